// SPDX-License-Identifier: Apache-2.0
// A catalogue as a file: dropped, looked at, applied. What is applied is the file that was looked
// at, in the mode it was looked at in.
import { batch, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import {
  import_modes, type ImportDifference, type ImportMode, type ImportResult, type PastImport,
} from '../api';
import { Refusal, Unsettled } from '../asking';
import { cell_fault_text } from '../cell_faults';
import { is_same_content, read_csv_file, type CsvFile } from '../csv_file';
import { address_of } from '../route';
import { fault_text, use_shell } from '../shell';
import { Ask } from '../widgets/ask';
import { Choice } from '../widgets/field';
import { use_list } from '../widgets/loading';
import { Nothing, Waiting } from '../widgets/outcome';
import { Table } from '../widgets/table';
import { PastImports } from './past_imports';

const past_rows = 20;
const file_bytes_max = 64 * 1024 * 1024;

function create_state() {
  return {
    file: signal<CsvFile | null>(null),
    mode: signal<ImportMode>('set'),
    result: signal<ImportResult | null>(null),
    fault: signal<unknown>(null),
    is_busy: signal(false),
    is_asking: signal(false),
  };
}

type State = ReturnType<typeof create_state>;

function Drop({ choose, name }: { choose: (file: File) => void; name: string | null }) {
  const { look } = use_shell();
  const is_over = useMemo(() => signal(false), []);
  const dragged = (event: DragEvent, over: boolean) => {
    event.preventDefault();
    is_over.value = over;
  };
  return (
    <label class={`drop ${is_over.value ? 'over' : ''}`}
      onDragOver={(event) => dragged(event, true)} onDragLeave={(event) => dragged(event, false)}
      onDrop={(event) => {
        dragged(event, false);
        const file = event.dataTransfer?.files[0];
        if (file) choose(file);
      }}>
      <span>{name ?? look.say('imports.drop')}</span>
      <input class="unseen" type="file" accept=".csv,text/csv" onChange={(event) => {
        const file = event.currentTarget.files?.[0];
        if (file) choose(file);
        event.currentTarget.value = '';
      }} />
    </label>
  );
}

function Faults({ fault }: { fault: unknown }) {
  const { look } = use_shell();
  const errors = (fault instanceof Refusal ? [...fault.problem.errors ?? []] : [])
    .sort((a, b) => (a.row ?? 0) - (b.row ?? 0));
  if (errors.length === 0)
    return <p class="failed" role="alert">{fault_text(look, fault)}</p>;
  return (
    <>
      <p class="failed" role="alert">{look.say('imports.faults', { n: errors.length })}</p>
      <Table caption={look.say('imports.faults', { n: errors.length })} rows={errors}
        id={(e) => `${e.pointer} ${e.detail}`} columns={[
          { title: look.say('imports.row'), cell: (e) => e.row ?? e.pointer },
          { title: look.say('imports.column'), cell: (e) => e.column ?? '' },
          {
            title: look.say('detail'),
            cell: (e) => cell_fault_text(look, e, 'imports.fault'),
          },
        ]} />
    </>
  );
}

function Differences({ rows }: { rows: readonly ImportDifference[] }) {
  const { look } = use_shell();
  return (
    <Table caption={look.say('imports.differences')} rows={rows}
      id={(d) => `${d.row} ${d.sku} ${d.location}`} columns={[
        { title: look.say('imports.row'), is_number: true, cell: (d) => look.number(d.row) },
        {
          title: look.say('sku'),
          cell: (d) => (d.created ? d.sku : <a href={address_of(['stock', d.sku])}>{d.sku}</a>),
        },
        { title: look.say('location'), cell: (d) => d.location },
        {
          title: look.say('imports.before'), is_number: true,
          cell: (d) => look.number(d.on_hand_before),
        },
        {
          title: look.say('imports.after'), is_number: true,
          cell: (d) => look.number(d.on_hand_after),
        },
        {
          title: '±', is_number: true,
          cell: (d) => look.signed(d.on_hand_after - d.on_hand_before),
        },
        {
          title: look.say('short'), is_number: true,
          cell: (d) => (d.short ? <strong>{look.number(d.short)}</strong> : '–'),
        },
        {
          title: look.say('imports.what'),
          cell: (d) => (d.created ? look.say('imports.created_row') : d.settings.join(', ')),
        },
      ]} />
  );
}

function Result({ result, apply }: { result: ImportResult; apply: () => void }) {
  const { look } = use_shell();
  const changes = result.created + result.changed;
  return (
    <section aria-labelledby="result">
      <h2 id="result">{look.say(result.dry_run ? 'imports.preview' : 'imports.applied')}</h2>
      <p role="status">
        {look.say('imports.counts', {
          rows: look.number(result.rows), created: look.number(result.created),
          changed: look.number(result.changed), unchanged: look.number(result.unchanged),
        })}
      </p>
      {result.dry_run && changes > 0 && (
        <div class="actions">
          <button type="button" class="main" onClick={apply}>{look.say('imports.apply')}</button>
        </div>
      )}
      {result.id !== null && (
        <p><a href={address_of(['imports', result.id])}>{look.say('imports.see')}</a></p>
      )}
      {result.differences.length < changes && (
        <p>{look.say('imports.first', { n: look.number(result.differences.length) })}</p>
      )}
      {result.differences.length === 0 ? <Nothing>{look.say('imports.nothing')}</Nothing>
        : <Differences rows={result.differences} />}
    </section>
  );
}

function use_import(state: State, applied: () => void) {
  const { api, look, notices } = use_shell();
  async function run(dry_run: boolean) {
    const file = state.file.value;
    if (!file || state.is_busy.value) return;
    batch(() => {
      state.is_busy.value = true;
      state.fault.value = null;
    });
    try {
      const mode = state.mode.value;
      const result = await (dry_run ? api.preview_import(file.content, mode)
        : api.import_stock(file.content, mode));
      if (!dry_run) {
        state.file.value = null;
        notices.done(look.say('imports.applied'));
        applied();
      }
      state.result.value = result;
    } catch (fault) {
      // What may have been imported stays as it is, for the same button to be pressed again.
      if (dry_run || !(fault instanceof Unsettled)) state.result.value = null;
      state.fault.value = fault;
      if (!dry_run) applied();
    } finally {
      state.is_busy.value = false;
    }
  }
  return run;
}

function NewImport({ applied }: { applied: () => void }) {
  const { look, notices } = use_shell();
  const state = useMemo(create_state, []);
  const run = use_import(state, applied);
  const anew = () => batch(() => {
    state.result.value = null;
    state.fault.value = null;
  });
  const choose = async (file: File) => {
    if (state.is_busy.value) return;
    if (file.size > file_bytes_max) return notices.refused(look.say('code.payload-too-large'));
    anew();
    const [chosen, before] = [await read_csv_file(file), state.file.value];
    // The same once more is still the same, so what may be imported already is not imported twice.
    const is_same = before !== null && await is_same_content(chosen.content, before.content);
    state.file.value = is_same ? { ...chosen, content: before.content } : chosen;
    await run(true);
  };
  const mode = state.mode.value;
  const guessed_from = state.file.value?.guessed_from;
  return (
    <>
      <Choice label={look.say('imports.mode')} name="mode" value={mode}
        hint={look.say(`imports.mode.${mode}`)} disabled={state.is_busy.value}
        onChange={(event) => {
          state.mode.value = event.currentTarget.value as ImportMode;
          anew();
          void run(true);
        }}>
        {import_modes.map((one) => (
          <option key={one} value={one}>{look.say(`imports.mode.${one}.name`)}</option>
        ))}
      </Choice>
      <Drop choose={(file) => void choose(file)} name={state.file.value?.name ?? null} />
      {guessed_from && <p role="note">{look.say('imports.guessed', { sample: guessed_from })}</p>}
      {state.is_busy.value && <Waiting />}
      {state.fault.value !== null && <Faults fault={state.fault.value} />}
      {state.result.value && (
        <Result result={state.result.value} apply={() => { state.is_asking.value = true; }} />
      )}
      {state.is_asking.value && (
        <Ask title={look.say('imports.ask', { name: state.file.value?.name ?? '' })}
          action={look.say('imports.apply')} close={() => { state.is_asking.value = false; }}
          done={() => void run(false)} />
      )}
    </>
  );
}

export function ImportsScreen() {
  const { api, look, session } = use_shell();
  const list = use_list<PastImport>(
    (cursor, stop) => api.past_imports({ cursor, limit: past_rows }, stop), []);
  return (
    <>
      <h1>{look.say('imports.title')}</h1>
      {session.may('stock') && <NewImport applied={list.reload} />}
      <PastImports list={list} />
    </>
  );
}
