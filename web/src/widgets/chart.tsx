// SPDX-License-Identifier: Apache-2.0
// Lines over time. What the chart shows also stands in words: `summary` is what a screen reader
// says in its place.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Look } from '../look';
import { use_shell } from '../shell';

export interface Series {
  readonly label: string;
  readonly colour: 'one' | 'two' | 'three';
  readonly is_stepped?: boolean;
}

const height_px = 260;
const mark_space_px = 100;
const steps_seconds = [1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800, 2_592_000];

function options_of(series: readonly Series[], width: number, look: Look) {
  const css = getComputedStyle(document.documentElement);
  const colour = (name: string) => css.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--text'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
    font: '12px system-ui, sans-serif',
  };
  const marks = (plot: uPlot, at: number[], _axis: number, _space: number, step: number) => {
    const { min, max } = plot.scales['x'] ?? {};
    return at.map((seconds) => look.mark(new Date(seconds * 1000), step, (max ?? 0) - (min ?? 0)));
  };
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  return {
    width,
    height: height_px,
    scales: { y: { range: { min: { pad: 0.1, soft: 0, mode: 1 }, max: { pad: 0.1 } } } },
    axes: [
      { ...axis, space: mark_space_px, incrs: steps_seconds, values: marks },
      { ...axis, size: 70 },
    ],
    series: [
      {
        label: look.say('time'),
        value: (_: uPlot, at: number | null) =>
          (at === null ? '–' : look.clock(new Date(at * 1000))),
      },
      ...series.map((one) => ({
        label: one.label,
        stroke: colour(`--chart-${one.colour}`),
        width: 2,
        points: { show: false },
        ...(one.is_stepped && stepped ? { paths: stepped } : {}),
      })),
    ],
  } as uPlot.Options;
}

// `data` is the seconds since 1970, then the numbers of each series.
export function Chart({ series, data, summary }: {
  series: readonly Series[];
  data: readonly (readonly (number | null)[])[];
  summary: string;
}) {
  const { look } = use_shell();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(data);
  latest.current = data;
  const made_of = `${look.language.value} ${look.theme.value} ${series.length}`;

  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options_of(series, element.clientWidth, look),
        latest.current as unknown as uPlot.AlignedData, element);
    };
    draw();
    const watch = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: height_px }));
    watch.observe(element);
    const dark = window.matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    return () => {
      watch.disconnect();
      dark.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [made_of]);

  useEffect(() => {
    plot.current?.setData(data as unknown as uPlot.AlignedData);
  }, [data]);

  return (
    <figure class="chart">
      <div ref={place} aria-hidden="true" />
      <figcaption>{summary}</figcaption>
    </figure>
  );
}
