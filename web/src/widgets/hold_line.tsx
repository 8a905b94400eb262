// SPDX-License-Identifier: Apache-2.0
// Units that are promised to somebody, in a list of such.
import type { Hold } from '../api';
import { address_of } from '../route';
import { use_shell } from '../shell';

export function HoldLine({ hold }: { hold: Hold }) {
  const { look } = use_shell();
  return (
    <li>
      <a href={address_of(['reservations', hold.reservation_id])}>
        {look.number(hold.quantity)}
      </a>{' '}
      {look.say('why.until', { at: look.time(hold.expires_at) })}
      {[hold.reference, hold.customer].map((text) => text && <>, <bdi>{text}</bdi></>)}
    </li>
  );
}
