// SPDX-License-Identifier: Apache-2.0
import { use_shell } from '../shell';

export function NoticeList() {
  const { notices, look } = use_shell();
  const of = (kind: 'done' | 'refused') =>
    notices.all.value.filter((n) => n.kind === kind).map((n) => (
      <p key={n.id} class={`notice ${n.kind}`}>
        <span>{n.text}</span>
        <button type="button" class="quiet" aria-label={look.say('dismiss')}
          onClick={() => notices.dismiss(n.id)}>×</button>
      </p>
    ));
  return (
    <div class="notices">
      <div role="status" aria-live="polite">{of('done')}</div>
      <div role="alert" aria-live="assertive">{of('refused')}</div>
    </div>
  );
}
