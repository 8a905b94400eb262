// SPDX-License-Identifier: Apache-2.0
// Where numbers are typed that were counted: SKU, Enter, number, Enter, as fast as one reads them
// out or a scanner sends them; or many rows pasted. What is not entered stays below.
import type { RefObject } from 'preact';
import type { ShownCount } from '../api';
import { cell_fault_text } from '../cell_faults';
import type { Attempt, Entering } from '../count_entering';
import { rows_in, type CountedRow } from '../counted_rows';
import { instant_of, local_time } from '../item_settings';
import { fault_text, use_shell } from '../shell';
import { Field, typed } from './field';

function Latest({ entering }: { entering: Entering }) {
  const { look } = use_shell();
  const [one, ...others] = entering.latest.value;
  return (
    <p class="foot" role="status">
      {one && (others.length > 0 ? look.say('counts.entered_n', { n: others.length + 1 })
        : look.say('counts.entered', {
          sku: one.sku, n: look.number(one.quantity), difference: look.signed(one.difference),
        }))}
    </p>
  );
}

export function CountEntryForm({ count, entering, form }: {
  count: ShownCount;
  entering: Entering;
  form: RefObject<HTMLFormElement>;
}) {
  const { look } = use_shell();
  const field = (name: string) =>
    form.current?.elements.namedItem(name) as HTMLInputElement | null;
  // Of numbers from a sheet of paper: when they were counted.
  const counted_at = () => instant_of(field('counted_at')?.value ?? '');
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const here = event.currentTarget as HTMLFormElement;
    const row = { sku: typed(here, 'sku'), quantity: typed(here, 'quantity') };
    void entering.send(entering.lay_out([row], counted_at()));
    for (const name of ['sku', 'quantity']) {
      const done = field(name);
      if (done) done.value = '';
    }
    field('sku')?.focus();
  };
  const go_on = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    if (field('sku')?.value.trim()) field('quantity')?.select();
  };
  const paste = (event: ClipboardEvent) => {
    const text = event.clipboardData?.getData('text') ?? '';
    if (!/[\n\r\t]/.test(text.trim())) return;
    event.preventDefault();
    entering.lay_out(rows_in(text), counted_at());
  };
  return (
    <>
      <form ref={form} class="filters entering" onSubmit={submit} aria-label={look.say('counts.enter')}>
        <Field label={look.say('sku')} name="sku" required maxLength={100} autocomplete="off"
          autocapitalize="off" spellcheck={false} list="uncounted"
          hint={look.say('counts.sku_hint')} onKeyDown={go_on} onPaste={paste} />
        <Field label={look.say('counts.quantity')} name="quantity" required inputMode="numeric"
          pattern="\s*[0-9]{1,16}\s*" title={look.say('counts.fault.no-number')}
          autocomplete="off" hint={look.say('counts.quantity_hint')} />
        <Field label={look.say('counts.counted_at')} name="counted_at" type="datetime-local"
          step={1} min={local_time(count.opened_at)}
          hint={look.say('counts.counted_at_hint')} />
        <button type="submit" class="main">{look.say('counts.enter')}</button>
      </form>
      <datalist id="uncounted">
        {count.uncounted.map((sku) => <option key={sku} value={sku} />)}
      </datalist>
      <Latest entering={entering} />
    </>
  );
}

function RowEditor({ row, place, attempt, change }: {
  row: CountedRow;
  place: number;
  attempt: Attempt;
  change: (to: CountedRow | null) => void;
}) {
  const { look } = use_shell();
  const fault = attempt.faults.get(place);
  // A fault goes away with the key that mends it. If it went when the box is left, the button that
  // is being clicked would move away under the pointer, and the click would be lost.
  const input = (name: keyof CountedRow, label: string) => (
    <input aria-label={label} name={name} value={row[name]} readOnly={attempt.is_sending}
      autocomplete="off" spellcheck={false} inputMode={name === 'quantity' ? 'numeric' : 'text'}
      aria-invalid={fault !== undefined}
      aria-describedby={fault ? `fault-${attempt.id}-${place}` : undefined}
      onInput={(event) => change({ ...row, [name]: event.currentTarget.value })}
      onChange={(event) => {
        const text = event.currentTarget.value.trim();
        if (text !== row[name]) change({ ...row, [name]: text });
      }} />
  );
  return (
    <tr class={fault ? 'refused' : ''}>
      <td>{input('sku', look.say('sku'))}</td>
      <td>{input('quantity', look.say('counts.quantity'))}</td>
      <td id={`fault-${attempt.id}-${place}`}>{fault && cell_fault_text(look, fault, 'counts.fault')}</td>
      <td>
        {attempt.rows.length > 1 && !attempt.is_sending && (
          <button type="button" class="quiet" onClick={() => change(null)}
            aria-label={look.say('counts.drop_row', { sku: row.sku })}>×</button>
        )}
      </td>
    </tr>
  );
}

function AttemptShown({ attempt, entering }: { attempt: Attempt; entering: Entering }) {
  const { look } = use_shell();
  const { rows, faults, fault, is_sending } = attempt;
  const what = look.say(is_sending ? 'saving' : 'counts.not_entered', { n: rows.length });
  const change = (place: number, to: CountedRow | null) =>
    entering.change(attempt, to === null ? rows.filter((_, other) => other !== place)
      : rows.map((row, other) => (other === place ? to : row)));
  const why = faults.size > 0 ? look.say('counts.rows_refused', { n: faults.size })
    : fault !== null && fault_text(look, fault);
  return (
    <form class="attempt" aria-busy={is_sending} onSubmit={(event) => {
      event.preventDefault();
      if (!is_sending) void entering.send(attempt);
    }}>
      {why && <p class="failed" role="alert">{why}</p>}
      <div class="scroller">
        <table>
          <caption>
            {what}{attempt.counted_at && `, ${look.time(attempt.counted_at)}`}
          </caption>
          <thead>
            <tr>
              <th scope="col">{look.say('sku')}</th>
              <th scope="col">{look.say('counts.quantity')}</th>
              <th scope="col">{look.say('detail')}</th>
              <th scope="col">{look.say('action')}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, place) => (
              <RowEditor key={place} row={row} place={place} attempt={attempt}
                change={(to) => change(place, to)} />
            ))}
          </tbody>
        </table>
      </div>
      {!is_sending && (
        <div class="actions">
          <button type="submit" class="main">
            {look.say('counts.enter_n', { n: rows.length })}
          </button>
          <button type="button" onClick={() => entering.drop(attempt)}>
            {look.say('counts.discard')}
          </button>
        </div>
      )}
    </form>
  );
}

export function CountAttempts({ entering }: { entering: Entering }) {
  return (
    <>
      {entering.attempts.value.map((attempt) => (
        <AttemptShown key={attempt.id} attempt={attempt} entering={entering} />
      ))}
    </>
  );
}
