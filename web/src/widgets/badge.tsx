// SPDX-License-Identifier: Apache-2.0
// A state as a word on a colour; the word alone says it all.
import { use_shell } from '../shell';
import type { Key } from '../text/en';

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

export function Badge({ tone, says }: { tone: Tone; says: Key }) {
  const { look } = use_shell();
  return <span class={`badge ${tone}`}>{look.say(says)}</span>;
}
