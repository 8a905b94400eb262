// SPDX-License-Identifier: Apache-2.0
// A role, with what it may do said below it.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { KeyRole, StaffRole } from '../api';
import { use_shell } from '../shell';
import { Choice } from './field';

export type Role = StaffRole | KeyRole;

export function RoleChoice({ roles, present }: { roles: readonly Role[]; present: Role }) {
  const { look } = use_shell();
  const chosen = useMemo(() => signal(present), []);
  return (
    <Choice label={look.say('role')} name="role" value={chosen.value}
      hint={look.say(`role.${chosen.value}.may`)}
      onChange={(event) => { chosen.value = event.currentTarget.value as Role; }}>
      {roles.map((one) => <option key={one} value={one}>{look.say(`role.${one}`)}</option>)}
    </Choice>
  );
}
