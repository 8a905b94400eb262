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
import { setting_titles } from '../item_settings';
import { address_of } from '../route';
import { fault_text, use_presence, use_shell } from '../shell';
import { Ask } from '../widgets/ask';
import { Choice } from '../widgets/field';
import { use_list } from '../widgets/loading';
import { Nothing, Waiting } from '../widgets/outcome';
import { Table } from '../widgets/table';
import { PastImports } from './past_imports';

const past_rows = 20;
const faults_told_max = 100; // by the service, of one file
const file_bytes_max = 64 * 1024 * 1024;

function create_state() {
  return {
    file: signal<CsvFile | null>(null),
    mode: signal<ImportMode>('set'),
    result: signal<ImportResult | null>(null),
    fault: signal<unknown>(null),
    is_busy: signal(false),
    known: signal<PastImport | null>(null), // what the result is of, when nothing was done now
    is_asking: signal(false),
  };
}

type State = ReturnType<typeof create_state>;

function Drop({ choose, name, is_busy }: {
  choose: (file: File) => void;
  name: string | null;
  is_busy: boolean;
}) {
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
      <input class="unseen" type="file" accept=".csv,text/csv" disabled={is_busy}
        onChange={(event) => {
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
  const more = errors.length >= faults_told_max ? '+' : '';
  const title = look.say('imports.faults', { n: `${errors.length}${more}` });
  return (
    <>
      <p class="failed" role="alert">{title}</p>
      <Table caption={title} rows={errors}
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
          cell: (d) => (d.created ? look.say('imports.created_row')
            : d.settings.map((name) => look.say(setting_titles[name])).join(', ')),
        },
      ]} />
  );
}

function Result({ result, known, apply }: {
  result: ImportResult;
  known: PastImport | null;
  apply: () => void;
}) {
  const { look } = use_shell();
  const changes = result.created + result.changed;
  const title = result.dry_run ? 'imports.preview' : known ? 'imports.known' : 'imports.applied';
  return (
    <section aria-labelledby="result">
      <h2 id="result">{look.say(title)}</h2>
      {known && (
        <p role="note">
          {look.say('imports.known_about', { at: look.time(known.at), actor: known.actor })}
        </p>
      )}
      <p role="status">
        {look.say('imports.counts', {
          rows: look.number(result.rows), created: look.number(result.created),
          changed: look.number(result.changed), unchanged: look.number(result.unchanged),
        })}
      </p>
      {result.undone_at !== null && (
        <p role="note">{look.say('imports.undone_since', { at: look.time(result.undone_at) })}</p>
      )}
      {(known || result.dry_run && changes > 0) && (
        <div class="actions">
          <button type="button" class="main" onClick={apply}>
            {look.say(known ? 'imports.apply_anew' : 'imports.apply')}
          </button>
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
  const is_here = use_presence();

  const settle = (file: CsvFile, found: ImportResult, known: PastImport | null) => batch(() => {
    if (!found.dry_run && !known) state.file.value = null;
    state.result.value = found;
    state.known.value = known;
    if (found.dry_run) return;
    notices.done(look.say(known ? 'imports.known_of' : 'imports.applied', { name: file.name }));
    applied();
  });

  const refuse = (file: CsvFile, dry_run: boolean, fault: unknown) => batch(() => {
    // What may have been imported stays as it is, for the same button to be pressed again.
    if (dry_run || !(fault instanceof Unsettled)) state.result.value = null;
    state.fault.value = fault;
    if (dry_run) return;
    applied();
    if (!is_here()) notices.refused(`${file.name}: ${fault_text(look, fault)}`);
  });

  async function ask(dry_run: boolean) {
    const file = state.file.value;
    if (!file) return;
    state.fault.value = null;
    try {
      const mode = state.mode.value;
      if (dry_run) return settle(file, await api.preview_import(file.content, mode), null);
      const anew = state.known.value !== null;
      const { found, is_known } = await api.import_stock(file.content, mode, anew);
      settle(file, found,
        is_known && found.id !== null ? await api.past_import(found.id) : null);
    } catch (fault) {
      refuse(file, dry_run, fault);
    }
  }

  // One thing at a time, reading a file as well: what is applied is what was looked at.
  async function alone(act: () => Promise<void>) {
    if (state.is_busy.value) return;
    state.is_busy.value = true;
    try {
      await act();
    } finally {
      state.is_busy.value = false;
    }
  }

  const forget_result = () => batch(() => {
    state.result.value = null;
    state.fault.value = null;
    state.known.value = null;
  });

  const read = async (file: File) => {
    forget_result();
    try {
      const [chosen, before] = [await read_csv_file(file), state.file.value];
      // The same once more is still the same, so what may be imported already is imported once.
      const is_same = before !== null && await is_same_content(chosen.content, before.content);
      state.file.value = is_same ? { ...chosen, content: before.content } : chosen;
    } catch (fault) {
      state.file.value = null; // it is not there any more, or may not be read
      state.fault.value = fault;
    }
  };
  return {
    apply: () => alone(() => ask(false)),
    look_at: (file: File) => alone(async () => {
      await read(file);
      await ask(true);
    }),
    change_mode: (mode: ImportMode) => alone(() => {
      state.mode.value = mode;
      forget_result();
      return ask(true);
    }),
  };
}

function NewImport({ applied }: { applied: () => void }) {
  const { look, notices } = use_shell();
  const state = useMemo(create_state, []);
  const { apply, look_at, change_mode } = use_import(state, applied);
  const choose = (file: File) => {
    if (file.size > file_bytes_max) notices.refused(look.say('code.payload-too-large'));
    else void look_at(file);
  };
  const mode = state.mode.value;
  const guessed_from = state.file.value?.guessed_from;
  return (
    <>
      <Choice label={look.say('imports.mode')} name="mode" value={mode}
        hint={look.say(`imports.mode.${mode}`)} disabled={state.is_busy.value}
        onChange={(event) => void change_mode(event.currentTarget.value as ImportMode)}>
        {import_modes.map((one) => (
          <option key={one} value={one}>{look.say(`imports.mode.${one}.name`)}</option>
        ))}
      </Choice>
      <Drop choose={choose} name={state.file.value?.name ?? null} is_busy={state.is_busy.value} />
      {guessed_from && <p role="note">{look.say('imports.guessed', { sample: guessed_from })}</p>}
      {state.is_busy.value && <Waiting />}
      {state.fault.value !== null && <Faults fault={state.fault.value} />}
      {state.result.value && (
        <Result result={state.result.value} known={state.known.value}
          apply={() => { state.is_asking.value = true; }} />
      )}
      {state.is_asking.value && (
        <Ask title={look.say('imports.ask', { name: state.file.value?.name ?? '' })}
          action={look.say('imports.apply')} close={() => { state.is_asking.value = false; }}
          done={() => void apply()} />
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
