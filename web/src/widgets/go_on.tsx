// SPDX-License-Identifier: Apache-2.0
// What one can do about a number that was not taken, or of which nobody knows whether it was.
import type { Item } from '../api';
import { use_shell } from '../shell';
import type { Editing, Refused } from '../stock_editing';

export function GoOn({ refused, item, editing, done }: {
  refused: Refused;
  item: Item;
  editing: Editing;
  done?: () => void;
}) {
  const { look } = use_shell();
  const act = async () => {
    await (refused.is_open ? editing.again(item) : editing.insist(item));
    done?.();
  };
  return (
    <button type="button" onClick={() => void act()}>
      {look.say(refused.is_open ? 'edit.again' : 'edit.insist')}
    </button>
  );
}
