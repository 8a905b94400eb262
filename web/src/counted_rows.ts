// SPDX-License-Identifier: Apache-2.0
// Rows of what was counted, as they are typed or come from a spreadsheet, and what is wrong with
// each. Pure.
import { Refusal } from './asking';

export interface CountedRow {
  readonly sku: string;
  readonly quantity: string; // as typed
}

export interface RowFault {
  readonly code: string;
  readonly detail: string;
}

export type RowFaults = ReadonlyMap<number, RowFault>;

const number_form = /^\d{1,16}$/;
const on_hand_max = 9_000_000_000_000_000;

// A cell each, or a line that ends with its number. What has no number comes without one, for
// somebody to look at.
function row_in(line: string): CountedRow {
  if (line.includes('\t')) {
    const [sku = '', quantity = ''] = line.split('\t');
    return { sku: sku.trim(), quantity: quantity.trim() };
  }
  // 1 000 may be a thousand, or a number that belongs to the SKU.
  if (/[;,\s]\d{1,3}([,\s]\d{3})+$/.test(line.trim())) return { sku: line.trim(), quantity: '' };
  const found = /^(.*\S)\s*[;,\s]\s*(\d+)$/.exec(line.trim());
  return { sku: (found?.[1] ?? line).trim(), quantity: found?.[2] ?? '' };
}

export function rows_in(text: string): CountedRow[] {
  return text.split(/\r\n|\r|\n/).filter((line) => line.trim() !== '').map(row_in)
    .filter(({ sku, quantity }, place) =>
      place > 0 || number_form.test(quantity) || sku.toLowerCase() !== 'sku');
}

function fault_code(row: CountedRow): string | null {
  if (row.sku === '') return 'no-sku';
  if (!number_form.test(row.quantity) || Number(row.quantity) > on_hand_max) return 'no-number';
  return null;
}

// What the service need not be asked about.
export function faults_in(rows: readonly CountedRow[]): RowFaults {
  const faults = new Map<number, RowFault>();
  const seen = new Set<string>();
  rows.forEach((row, place) => {
    const code = fault_code(row) ?? (seen.has(row.sku) ? 'twice' : null);
    if (code) faults.set(place, { code, detail: code });
    seen.add(row.sku);
  });
  return faults;
}

// Which rows the service refuses, by their place in what was sent: /entries/4, /entries/4/sku.
export function rows_refused(fault: unknown): RowFaults {
  const faults = new Map<number, RowFault>();
  const errors = fault instanceof Refusal ? fault.problem.errors ?? [] : [];
  for (const { pointer, code, detail } of errors) {
    const place = /^\/entries\/(\d+)/.exec(pointer)?.[1];
    if (place !== undefined)
      faults.set(Number(place), { code: code ?? 'validation-failed', detail });
  }
  return faults;
}
