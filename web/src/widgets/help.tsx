// SPDX-License-Identifier: Apache-2.0
import { use_shell } from '../shell';
import type { Key } from '../text/en';
import { Dialog } from './dialog';

const keys: readonly (readonly [string, Key])[] = [
  ['/', 'help.search'], ['↑ ↓', 'help.arrows'], ['Home', 'help.home'], ['End', 'help.end'],
  ['Enter', 'help.enter'], ['o', 'help.open'], ['Esc', 'help.escape'], ['?', 'help.help'],
];

export function Help({ close }: { close: () => void }) {
  const { look } = use_shell();
  return (
    <Dialog title={look.say('help.title')} close={close}>
      <dl class="pairs">
        {keys.map(([key, says]) => (
          <div key={key}><dt><kbd>{key}</kbd></dt><dd>{look.say(says)}</dd></div>
        ))}
      </dl>
    </Dialog>
  );
}
