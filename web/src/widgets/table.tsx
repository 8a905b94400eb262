// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from 'preact';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly is_number?: boolean;
  readonly is_time?: boolean; // stays on one line
}

export function Table<T>({ caption, columns, rows, id }: {
  caption: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  id: (row: T) => string;
}) {
  const kind = (column: Column<T>) =>
    (column.is_number ? 'number' : column.is_time ? 'time' : '');
  return (
    <div class="scroller" role="group" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((c, at) => <th key={at} scope="col" class={kind(c)}>{c.title}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)}>
              {columns.map((c, at) => <td key={at} class={kind(c)}>{c.cell(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
