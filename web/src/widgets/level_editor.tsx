// SPDX-License-Identifier: Apache-2.0
// Types a new number on hand. The service takes it only while the number is still what was seen
// here, so two people who count the same shelf do not undo each other.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { reasons, type Adjust, type Item, type Reason } from '../api';
import { use_shell } from '../shell';

// Digits and nothing else, up to 9 000 000 000 000 000: in a field of numbers 1.000 is one, and 1e1
// ten.
const on_hand_pattern = '\\s*0*([0-8]?[0-9]{1,15}|90{15})\\s*';

export function LevelEditor({ item, location, save, cancel }: {
  item: Item;
  location?: string;
  save: (command: Adjust) => void;
  cancel: () => void;
}) {
  const { look } = use_shell();
  const number = useRef<HTMLInputElement>(null);
  const [where, set_where] = useState(location ?? item.levels[0]?.location ?? 'main');
  const on_hand_at = (place: string) =>
    item.levels.find((level) => level.location === place)?.on_hand ?? 0;
  // What was shown when the typing began, also when somebody changes it meanwhile.
  const seen = useMemo(() => on_hand_at(where), [where]);
  // At once, so that no key that is pressed meanwhile goes to the grid.
  useLayoutEffect(() => number.current?.select(), []);
  // A number that was typed already is meant for the location that is chosen then.
  const move_to = (place: string) => {
    if (number.current?.value === String(seen)) number.current.value = String(on_hand_at(place));
    set_where(place);
  };

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const set_to = Number(form.get('set_to'));
    if (set_to === seen) return cancel();
    save({
      set_to, expect_on_hand: seen, location: where, reason: String(form.get('reason')) as Reason,
    });
  };
  const keys = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === 'Escape') cancel();
  };
  return (
    <form class="editor" onSubmit={submit} onKeyDown={keys}
      aria-label={look.say('edit.title', { sku: item.sku })}>
      <input ref={number} name="set_to" inputMode="numeric" required
        pattern={on_hand_pattern} title={look.say('edit.digits')} autocomplete="off"
        defaultValue={String(seen)} aria-label={look.say('on_hand')} />
      {!location && item.levels.length > 1 && (
        <select aria-label={look.say('location')} value={where}
          onChange={(event) => move_to(event.currentTarget.value)}>
          {item.levels.map((level) => <option key={level.location}>{level.location}</option>)}
        </select>
      )}
      <select name="reason" aria-label={look.say('reason')}>
        {reasons.map((one) => (
          <option key={one} value={one}>{look.say(`reason.${one}`)}</option>
        ))}
      </select>
      <button type="submit" class="main">{look.say('save')}</button>
      <button type="button" onClick={cancel}>{look.say('cancel')}</button>
    </form>
  );
}
