// SPDX-License-Identifier: Apache-2.0
// How the service is: whether it takes traffic, what it counts, and the proof of its numbers.
import { signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Audit } from '../api';
import { figures_in, sum_of, type Figure } from '../metrics_text';
import { address_of } from '../route';
import { fault_text, use_shell } from '../shell';
import { Badge } from '../widgets/badge';
import { use_loaded } from '../widgets/loading';
import { Shown, Waiting } from '../widgets/outcome';
import { Table } from '../widgets/table';
import type { Key } from '../text/en';

const look_every_ms = 5000;

const shown: readonly (readonly [Key, string, Record<string, string>?])[] = [
  ['system.reserved', 'holdfast_units_total', { kind: 'reserved' }],
  ['system.confirmed', 'holdfast_units_total', { kind: 'confirmed' }],
  ['system.requests', 'holdfast_http_requests_total'],
  ['system.queue', 'holdfast_queue_length'],
  ['system.queue_rejected', 'holdfast_queue_rejected_total'],
  ['system.connections', 'holdfast_open_connections'],
  ['system.sessions', 'holdfast_database_sessions'],
  ['system.streams', 'holdfast_event_streams'],
  ['system.retries', 'holdfast_transaction_retries_total'],
  ['system.drift', 'holdfast_fast_path_drift_units_total'],
  ['system.faults', 'holdfast_worker_faults_total'],
  ['system.invariants', 'holdfast_invariant_broken_total'],
];

function Ready() {
  const { api, look } = use_shell();
  const loaded = use_loaded((stop) => api.ready(stop), []);
  useEffect(() => {
    const timer = setInterval(loaded.reload, look_every_ms);
    return () => clearInterval(timer);
  }, [loaded]);
  return (
    <section aria-labelledby="ready">
      <h2 id="ready">{look.say('system.ready')}</h2>
      <Shown loaded={loaded}>
        {(reasons) => (
          <div role="status">
            {reasons.length === 0 ? <Badge tone="good" says="system.is_ready" />
              : <Badge tone="bad" says="system.not_ready" />}
            <ul>{reasons.map((reason) => <li key={reason}>{reason}</li>)}</ul>
          </div>
        )}
      </Shown>
    </section>
  );
}

function Refusals({ figures }: { figures: readonly Figure[] }) {
  const { look } = use_shell();
  const rows = figures.filter((f) => f.name === 'holdfast_refusals_total' && f.value > 0)
    .sort((a, b) => b.value - a.value);
  if (rows.length === 0) return null;
  return (
    <Table caption={look.say('system.refusals')} rows={rows} id={(f) => f.labels['code'] ?? ''}
      columns={[
        { title: look.say('system.refusals'), cell: (f) => <code>{f.labels['code']}</code> },
        { title: look.say('system.count'), is_number: true, cell: (f) => look.number(f.value) },
      ]} />
  );
}

function Figures() {
  const { api, look } = use_shell();
  const loaded = use_loaded(async (stop) => figures_in(await api.metrics(stop)), []);
  useEffect(() => {
    const timer = setInterval(loaded.reload, look_every_ms);
    return () => clearInterval(timer);
  }, [loaded]);
  return (
    <section aria-labelledby="figures">
      <h2 id="figures">{look.say('system.figures')}</h2>
      <Shown loaded={loaded}>
        {(figures) => {
          const build = figures.find((f) => f.name === 'holdfast_build_info');
          const tiles = shown.map(([says, name, only]) => ({
            says, value: sum_of(figures, name, only),
          }));
          return (
            <>
              <p>{look.say('system.version', { version: build?.labels['version'] ?? '?' })}</p>
              <dl class="tiles">
                {tiles.filter((tile) => tile.value !== null).map((tile) => (
                  <div key={tile.says}>
                    <dt>{look.say(tile.says)}</dt><dd>{look.number(tile.value ?? 0)}</dd>
                  </div>
                ))}
              </dl>
              <Refusals figures={figures} />
              <p>{look.say('system.one_process')}</p>
            </>
          );
        }}
      </Shown>
    </section>
  );
}

function Proof() {
  const { api, look, notices } = use_shell();
  const audit = useMemo(() => signal<Audit | null>(null), []);
  const is_busy = useMemo(() => signal(false), []);
  const run = async () => {
    is_busy.value = true;
    try {
      audit.value = await api.audit();
    } catch (fault) {
      notices.refused(fault_text(look, fault));
    } finally {
      is_busy.value = false;
    }
  };
  const found = audit.value;
  return (
    <section aria-labelledby="audit">
      <h2 id="audit">{look.say('audit.title')}</h2>
      <p>{look.say('audit.about')}</p>
      <button type="button" disabled={is_busy.value} onClick={() => void run()}>
        {look.say('audit.run')}
      </button>
      {is_busy.value && <Waiting />}
      {found && (
        <p role="status">
          <Badge tone={found.ok ? 'good' : 'bad'} says={found.ok ? 'audit.ok' : 'audit.bad'} />{' '}
          {look.say('audit.checked', { n: look.number(found.checked) })}
        </p>
      )}
      {found && found.violations.length > 0 && (
        <Table caption={look.say('audit.bad')} rows={found.violations}
          id={(v) => `${v.check} ${v.sku} ${v.location}`} columns={[
            { title: look.say('audit.check'), cell: (v) => v.check },
            {
              title: look.say('sku'),
              cell: (v) => <a href={address_of(['stock', v.sku])}>{v.sku}</a>,
            },
            { title: look.say('location'), cell: (v) => v.location },
            { title: look.say('detail'), cell: (v) => v.detail },
          ]} />
      )}
    </section>
  );
}

export function SystemScreen() {
  const { look } = use_shell();
  return (
    <>
      <h1>{look.say('system.title')}</h1>
      <Ready />
      <Figures />
      <Proof />
      <p><a href="/docs">{look.say('system.docs')}</a></p>
    </>
  );
}
