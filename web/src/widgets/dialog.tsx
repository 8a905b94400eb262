// SPDX-License-Identifier: Apache-2.0
// The browser's own dialog: it keeps the focus inside, gives it back, and Esc closes it. When what
// it was opened from is gone by then, the focus goes to the beginning of the screen.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { use_shell } from '../shell';

function keep_focus() {
  if (document.activeElement === document.body && !document.querySelector('dialog[open]'))
    document.getElementById('main')?.focus({ preventScroll: true });
}

export function Dialog({ title, close, children }: {
  title: string;
  close: () => void;
  children: ComponentChildren;
}) {
  const { look } = use_shell();
  const element = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // Not on the cross: Enter pressed once more would close what has just been opened.
    (dialog?.querySelector<HTMLElement>('form input, form select, form textarea') ??
      heading.current)?.focus();
    return () => {
      dialog?.close();
      setTimeout(keep_focus);
    };
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onCancel={close} onClose={close}>
      <header>
        <h2 id={id} ref={heading} tabIndex={-1}>{title}</h2>
        <button type="button" class="quiet" aria-label={look.say('close')} onClick={close}>
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}
