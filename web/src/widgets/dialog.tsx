// SPDX-License-Identifier: Apache-2.0
// The browser's own dialog: it keeps the focus inside, gives it back, and Esc closes it.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { use_shell } from '../shell';

export function Dialog({ title, close, children }: {
  title: string;
  close: () => void;
  children: ComponentChildren;
}) {
  const { look } = use_shell();
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onCancel={close} onClose={close}>
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet" aria-label={look.say('close')} onClick={close}>
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}
