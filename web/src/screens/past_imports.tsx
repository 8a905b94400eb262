// SPDX-License-Identifier: Apache-2.0
// Imports that were applied: what each changed, and taking it back.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { PastImport, ShownImport } from '../api';
import { Refusal } from '../asking';
import { setting_titles } from '../item_settings';
import { address_of } from '../route';
import { fault_text, use_presence, use_shell } from '../shell';
import { en, type Key } from '../text/en';
import { Ask } from '../widgets/ask';
import { Badge } from '../widgets/badge';
import { use_loaded, type Listed, type Loaded } from '../widgets/loading';
import { ListShown, Shown, Waiting } from '../widgets/outcome';
import { Table } from '../widgets/table';

function ImportState({ of }: { of: PastImport }) {
  return of.undone_at === null ? <Badge tone="good" says="count.applied" />
    : <Badge tone="plain" says="imports.undone" />;
}

export function PastImports({ list }: { list: Listed<PastImport> }) {
  const { look, session } = use_shell();
  const address = (made: PastImport) => address_of(['imports', made.id]);
  return (
    <section aria-labelledby="past">
      <h2 id="past">{look.say('imports.past')}</h2>
      <ListShown list={list} empty={look.say('imports.none')}>
        {(rows) => (
          <Table caption={look.say('imports.past')} rows={rows} id={(i) => i.id} columns={[
            {
              title: look.say('time'), cell: (i) => <a href={address(i)}>{look.time(i.at)}</a>,
            },
            {
              title: look.say('imports.mode'),
              cell: (i) => look.say(`imports.mode.${i.mode}.name`),
            },
            { title: look.say('actor'), cell: (i) => i.actor },
            {
              title: look.say('imports.rows'), is_number: true, cell: (i) => look.number(i.rows),
            },
            {
              title: look.say('imports.created'), is_number: true,
              cell: (i) => look.number(i.created),
            },
            {
              title: look.say('imports.changed'), is_number: true,
              cell: (i) => look.number(i.changed),
            },
            { title: look.say('state'), cell: (i) => <ImportState of={i} /> },
            {
              title: look.say('action'),
              cell: (i) => i.undone_at === null && session.may('approve') && (
                <a href={address(i)}
                  aria-label={look.say('imports.undo_of', { at: look.time(i.at) })}>
                  {look.say('imports.undo')}
                </a>
              ),
            },
          ]} />
        )}
      </ListShown>
    </section>
  );
}

function RowsRefused({ fault }: { fault: unknown }) {
  const { look } = use_shell();
  const errors = fault instanceof Refusal ? fault.problem.errors ?? [] : [];
  if (errors.length === 0)
    return <p class="failed" role="alert">{fault_text(look, fault)}</p>;
  const meaning_of = (code: string | undefined) => {
    const key = `code.${code}`;
    return key in en ? look.say(key as Key) : '';
  };
  const title = look.say('imports.not_undone', { n: look.number(errors.length) });
  return (
    <>
      <p class="failed" role="alert">{title}</p>
      <Table caption={title} rows={errors} id={(e) => e.pointer} columns={[
        { title: look.say('imports.row'), cell: (e) => e.pointer.replace('/rows/', '') },
        { title: look.say('reason'), cell: (e) => meaning_of(e.code) },
        { title: look.say('detail'), cell: (e) => e.detail },
      ]} />
    </>
  );
}

// Nothing stands in the way but that more is promised than there would be.
function may_insist(fault: unknown): boolean {
  return fault instanceof Refusal && (fault.problem.errors ?? []).length > 0 &&
    (fault.problem.errors ?? []).every((error) => error.code === 'would-be-short');
}

function Undoing({ made, loaded }: { made: ShownImport; loaded: Loaded<ShownImport> }) {
  const { api, look, notices } = use_shell();
  const is_here = use_presence();
  const is_asking = useMemo(() => signal(false), []);
  const is_busy = useMemo(() => signal(false), []);
  const fault = useMemo(() => signal<unknown>(null), []);
  const insists = may_insist(fault.value);
  const undo = async () => {
    is_busy.value = true;
    try {
      loaded.value.value = await api.undo_import(made.id, insists);
      notices.done(look.say('imports.undone_done'));
    } catch (why) {
      fault.value = why;
      if (!is_here())
        notices.refused(`${look.say('imports.undo_of', { at: look.time(made.at) })}: ` +
          fault_text(look, why));
    } finally {
      is_busy.value = false;
    }
  };
  return (
    <>
      {is_busy.value ? <Waiting /> : fault.value !== null && <RowsRefused fault={fault.value} />}
      <div class="actions">
        <button type="button" class="grave" disabled={is_busy.value}
          onClick={() => { is_asking.value = true; }}>
          {look.say(insists ? 'imports.undo_anyway' : 'imports.undo')}
        </button>
      </div>
      {is_asking.value && (
        <Ask title={look.say('imports.undo_of', { at: look.time(made.at) })} is_grave
          action={look.say(insists ? 'imports.undo_anyway' : 'imports.undo')}
          close={() => { is_asking.value = false; }} done={() => void undo()}>
          <p>{look.say('imports.undo_about')}</p>
          {made.created > 0 && (
            <p>{look.say('imports.undo_created', { n: look.number(made.created) })}</p>
          )}
          {insists && <p class="failed">{look.say('imports.undo_short')}</p>}
        </Ask>
      )}
    </>
  );
}

function Undone({ made }: { made: ShownImport }) {
  const { look } = use_shell();
  return (
    <section aria-labelledby="undone">
      <h2 id="undone">{look.say('imports.undone')}</h2>
      <p>
        {look.say(made.superseded.length > 0 ? 'imports.undone_some'
          : 'imports.undone_levels')}{' '}
        {made.created > 0 && look.say('imports.undone_created', { n: look.number(made.created) })}
      </p>
      {made.superseded.length > 0 && (
        <Table caption={look.say('imports.superseded')} rows={made.superseded}
          id={(level) => String(level.row)}
          columns={[
            {
              title: look.say('sku'),
              cell: (level) => <a href={address_of(['stock', level.sku])}>{level.sku}</a>,
            },
            { title: look.say('location'), cell: (level) => level.location },
          ]} />
      )}
      <p>{look.say(made.kept_back.length > 0 ? 'imports.kept_back' : 'imports.nothing_kept')}</p>
      {made.kept_back.length > 0 && (
        <Table caption={look.say('imports.kept_back')} rows={made.kept_back} id={(k) => k.sku}
          columns={[
            {
              title: look.say('sku'),
              cell: (k) => <a href={address_of(['stock', k.sku])}>{k.sku}</a>,
            },
            {
              title: look.say('imports.what'),
              cell: (k) => k.settings.map((name) => look.say(setting_titles[name])).join(', '),
            },
          ]} />
      )}
    </section>
  );
}

function Facts({ of: made }: { of: ShownImport }) {
  const { look } = use_shell();
  const facts = [
    [look.say('imports.mode'), look.say(`imports.mode.${made.mode}`)],
    [look.say('imports.applied'), `${look.time(made.at)}, ${made.actor}`],
    [look.say('imports.undone'),
      made.undone_at && `${look.time(made.undone_at)}, ${made.undone_by}`],
    [look.say('reference'), <code>import-{made.id}</code>],
  ] as const;
  return (
    <>
      <dl class="pairs">
        {facts.filter(([, what]) => what).map(([name, what]) => (
          <div key={name}><dt>{name}</dt><dd>{what}</dd></div>
        ))}
      </dl>
      <p>
        {look.say('imports.counts', {
          rows: look.number(made.rows), created: look.number(made.created),
          changed: look.number(made.changed), unchanged: look.number(made.unchanged),
        })}
      </p>
    </>
  );
}

export function ImportScreen({ id }: { id: string }) {
  const { api, look, session } = use_shell();
  const loaded = use_loaded((stop) => api.past_import(id, stop), [id]);
  return (
    <>
      <p><a href={address_of(['imports'])}>← {look.say('imports.title')}</a></p>
      <Shown loaded={loaded}>
        {(made) => (
          <>
            <h1>{look.say('imports.one', { at: look.time(made.at) })}</h1>
            <p><ImportState of={made} /></p>
            <Facts of={made} />
            {made.undone_at !== null ? <Undone made={made} />
              : session.may('approve') && <Undoing made={made} loaded={loaded} />}
          </>
        )}
      </Shown>
    </>
  );
}
