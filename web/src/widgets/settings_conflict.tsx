// SPDX-License-Identifier: Apache-2.0
// What somebody else has set meanwhile beside what was wanted here; the reader says which it is.
import { changes_between, setting_names, setting_text, setting_titles } from '../item_settings';
import type { SettingsSaving } from '../settings_saving';
import { use_shell } from '../shell';
import { Dialog } from './dialog';
import { Table } from './table';

export function SettingsConflict({ saving, gave_way }: {
  saving: SettingsSaving;
  gave_way?: () => void;
}) {
  const { look } = use_shell();
  const conflict = saving.conflict.value;
  if (!conflict) return null;
  const { before, now, wish } = conflict;
  const theirs = changes_between(before.item, now.item);
  const wanted = { ...now.item, ...wish };
  const give_way = () => {
    saving.give_way();
    gave_way?.();
  };
  return (
    <Dialog title={look.say('conflict.title')} close={saving.put_off}>
      <p>{look.say('conflict.about')}</p>
      <Table caption={look.say('conflict.title')} id={(name) => name}
        rows={setting_names.filter((name) => name in theirs || name in wish)} columns={[
          { title: look.say('conflict.setting'), cell: (name) => look.say(setting_titles[name]) },
          {
            title: look.say('conflict.before'),
            cell: (name) => setting_text(look, before.item, name),
          },
          {
            title: look.say('conflict.now'),
            cell: (name) => <strong>{setting_text(look, now.item, name)}</strong>,
          },
          { title: look.say('conflict.yours'), cell: (name) => setting_text(look, wanted, name) },
        ]} />
      <div class="actions">
        <button type="button" class="main" onClick={give_way}>
          {look.say('conflict.give_way')}
        </button>
        <button type="button" class="grave" onClick={saving.insist}>
          {look.say('conflict.insist')}
        </button>
        <button type="button" onClick={saving.put_off}>{look.say('conflict.put_off')}</button>
      </div>
    </Dialog>
  );
}
