// SPDX-License-Identifier: Apache-2.0
// Waiting for something to become true. Nothing here waits for time to pass.
import { setTimeout as pause } from 'node:timers/promises';

export const patience_ms = 15_000;
const look_every_ms = 25;

// Answers with the first thing that `look` finds; fails after a while, saying what was missed.
export async function eventually(what, look, deadline_ms = patience_ms) {
  const end = Date.now() + deadline_ms;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${deadline_ms} ms went by without: ${what}`);
    await pause(look_every_ms);
  }
}
