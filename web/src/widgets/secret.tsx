// SPDX-License-Identifier: Apache-2.0
// What is told once: a key, a password, what a webhook signs with. Whoever closes this without a
// copy has to have another one made.
import { signal, type Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { use_presence, use_shell } from '../shell';
import { Dialog } from './dialog';

// Shows what was made; when its screen is gone by then, says that nobody has seen it.
export function use_telling<T>(shown: Signal<T | null>, title: (of: T) => string) {
  const { look, notices } = use_shell();
  const is_here = use_presence();
  return (of: T) => {
    if (is_here()) shown.value = of;
    else notices.refused(look.say('secret.unseen', { what: title(of) }));
  };
}

export function Secret({ title, about, secret, close }: {
  title: string;
  about: string;
  secret: string;
  close: () => void;
}) {
  const { look } = use_shell();
  const outcome = useMemo(() => signal<'secret.copied' | 'secret.by_hand' | null>(null), []);
  // Browsers lend the clipboard to pages that came over TLS or from this machine only.
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(secret);
      outcome.value = 'secret.copied';
    } catch {
      outcome.value = 'secret.by_hand';
    }
  };
  return (
    <Dialog title={title} close={close}>
      <p>{about}</p>
      <p><code class="secret">{secret}</code></p>
      <div class="actions">
        <button type="button" class="main" onClick={() => void copy()}>
          {look.say('secret.copy')}
        </button>
        <button type="button" onClick={close}>{look.say('close')}</button>
        <span role="status">{outcome.value && look.say(outcome.value)}</span>
      </div>
    </Dialog>
  );
}
