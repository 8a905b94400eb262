// SPDX-License-Identifier: Apache-2.0
// On hand and reserved of one level over time, as the ledger has them after each movement.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Movement } from '../api';
import { use_shell } from '../shell';
import { Chart } from './chart';
import { Choice } from './field';
import { Nothing } from './outcome';

// Movements come newest first; a chart goes the other way, one point for each instant.
export function points_of(movements: readonly Movement[], location: string) {
  const at: number[] = [];
  const on_hand: number[] = [];
  const reserved: number[] = [];
  const own = movements.filter((m) => m.location === location);
  for (const one of own.sort((a, b) => a.version - b.version)) {
    const seconds = Date.parse(one.at) / 1000;
    const last = at.length - 1;
    const place = last >= 0 && seconds <= (at[last] ?? 0) ? last : last + 1;
    at[place] = Math.max(seconds, at[last] ?? seconds);
    on_hand[place] = one.on_hand;
    reserved[place] = one.reserved;
  }
  return [at, on_hand, reserved] as const;
}

function busiest_of(movements: readonly Movement[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { location } of movements) counts.set(location, (counts.get(location) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0]?.[0];
}

export function StockChart({ movements }: { movements: readonly Movement[] }) {
  const { look } = use_shell();
  const chosen = useMemo(() => signal<string | null>(null), []);
  const locations = [...new Set(movements.map((m) => m.location))].sort();
  const location = chosen.value ?? busiest_of(movements);
  const points = useMemo(() => points_of(movements, location ?? ''), [movements, location]);
  if (location === undefined) return <Nothing>{look.say('chart.too_few')}</Nothing>;
  const last = points[0].length - 1;
  return (
    <>
      {locations.length > 1 && (
        <Choice label={look.say('location')} name="chart_location" value={location}
          onChange={(event) => { chosen.value = event.currentTarget.value; }}>
          {locations.map((one) => <option key={one}>{one}</option>)}
        </Choice>
      )}
      {last < 1 ? <Nothing>{look.say('chart.too_few')}</Nothing> : (
        <Chart data={points}
          series={[
            { label: look.say('on_hand'), colour: 'one', is_stepped: true },
            { label: look.say('reserved'), colour: 'two', is_stepped: true },
          ]}
          summary={look.say('chart.summary', {
            location, n: look.number(last + 1),
            from: look.number(points[1][0] ?? 0), to: look.number(points[1][last] ?? 0),
            reserved: look.number(points[2][last] ?? 0),
          })} />
      )}
    </>
  );
}
