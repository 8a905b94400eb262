// SPDX-License-Identifier: Apache-2.0
// Reads the Prometheus text format, as far as this page shows it.
export interface Figure {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const line_form = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const label_form = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function figures_in(text: string): Figure[] {
  const figures: Figure[] = [];
  for (const line of text.split('\n')) {
    const found = line.startsWith('#') ? null : line_form.exec(line);
    if (!found) continue;
    const labels: Record<string, string> = {};
    for (const [, name = '', value = ''] of (found[2] ?? '').matchAll(label_form))
      labels[name] = value;
    figures.push({ name: found[1] ?? '', labels, value: Number(found[3]) });
  }
  return figures;
}

// The sum over all labels but those asked for; null when the service does not count this.
export function sum_of(
  figures: readonly Figure[], name: string, only: Record<string, string> = {},
): number | null {
  const own = figures.filter((figure) => figure.name === name &&
    Object.entries(only).every(([label, value]) => figure.labels[label] === value));
  return own.length === 0 ? null : own.reduce((sum, figure) => sum + figure.value, 0);
}
