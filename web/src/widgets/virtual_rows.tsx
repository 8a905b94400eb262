// SPDX-License-Identifier: Apache-2.0
// Rows of one height, of which only those in sight are in the document.
import { signal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks';

export const row_height_px = 44; // as --row in page.css
const spare_rows = 8;

export function VirtualRows({ scroller, count, near_end, row }: {
  scroller: RefObject<HTMLElement>;
  count: number;
  near_end: () => void;
  row: (index: number) => ComponentChildren;
}) {
  const seen = useMemo(() => signal({ first: 0, last: 30 }), []);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const look = () => {
      const first = Math.floor(element.scrollTop / row_height_px);
      const last = first + Math.ceil(element.clientHeight / row_height_px);
      if (first !== seen.value.first || last !== seen.value.last) seen.value = { first, last };
    };
    look();
    const watch = new ResizeObserver(look);
    watch.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);

  const first = Math.max(0, Math.min(seen.value.first - spare_rows, count));
  const last = Math.min(count, seen.value.last + spare_rows);
  const is_near_end = seen.value.last + 2 * spare_rows >= count;
  useLayoutEffect(() => {
    if (is_near_end) near_end();
  });
  const shown = [];
  for (let index = first; index < last; ++index) shown.push(row(index));
  return (
    <>
      <div role="presentation" style={{ height: `${first * row_height_px}px` }} />
      {shown}
      <div role="presentation" style={{ height: `${(count - last) * row_height_px}px` }} />
    </>
  );
}

// Scrolls so that the row is seen below a head that stays in sight.
export function bring_into_view(element: HTMLElement, index: number, head_px: number) {
  const top = index * row_height_px;
  const room = element.clientHeight - head_px - row_height_px;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top > element.scrollTop + room) element.scrollTop = top - room;
}
