// SPDX-License-Identifier: Apache-2.0
// The frame around every screen: where one can go, who one is, how it looks.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Language, Theme } from './look';
import { address_of, invitation_at, type Place } from './route';
import { AccountScreen } from './screens/account';
import { BlockedScreen } from './screens/blocked';
import { CountScreen } from './screens/count';
import { CountsScreen } from './screens/counts';
import { DriftScreen } from './screens/drift';
import { ImportsScreen } from './screens/imports';
import { ItemScreen } from './screens/item';
import { KeysScreen } from './screens/keys';
import { LiveScreen } from './screens/live';
import { ImportScreen } from './screens/past_imports';
import { is_report, ReportsScreen } from './screens/reports';
import { ReservationScreen, ReservationsScreen } from './screens/reservations';
import { InvitationScreen, SignInScreen } from './screens/sign_in';
import { StaffScreen } from './screens/staff';
import { StockScreen } from './screens/stock';
import { SystemScreen } from './screens/system';
import { TrailScreen } from './screens/trail';
import { WebhookScreen, WebhooksScreen } from './screens/webhooks';
import type { Right } from './session';
import { fault_text, use_shell, use_title } from './shell';
import type { Key } from './text/en';
import { use_loaded } from './widgets/loading';
import { NoticeList } from './widgets/notices';
import { Shown } from './widgets/outcome';

// Where one can go, and the right without which there is nothing to do there.
const places: readonly (readonly [string, Key, Right])[] = [
  ['stock', 'stock.title', 'read'], ['reservations', 'reservations.title', 'read'],
  ['live', 'live.title', 'read'], ['counts', 'counts.title', 'read'],
  ['imports', 'imports.title', 'read'], ['reports', 'reports.title', 'read'],
  ['webhooks', 'webhooks.title', 'settings'], ['drift', 'drift.title', 'read'],
  ['blocked', 'blocked.title', 'read'], ['trail', 'trail.title', 'settings'],
  ['keys', 'keys.title', 'keys'], ['staff', 'staff.title', 'staff'],
  ['system', 'system.title', 'read'],
];

function screen_at({ path }: Place): ComponentChildren {
  const [first = 'stock', second, ...rest] = path;
  if (rest.length > 0) return null;
  if (second !== undefined) {
    if (first === 'stock') return <ItemScreen key={second} sku={second} />;
    if (first === 'reservations') return <ReservationScreen key={second} id={second} />;
    if (first === 'webhooks') return <WebhookScreen key={second} id={second} />;
    if (first === 'counts') return <CountScreen key={second} id={second} />;
    if (first === 'imports') return <ImportScreen key={second} id={second} />;
    if (first === 'reports' && is_report(second))
      return <ReportsScreen key={second} report={second} />;
    return null;
  }
  switch (first) {
    case 'stock': return <StockScreen />;
    case 'reservations': return <ReservationsScreen />;
    case 'live': return <LiveScreen />;
    case 'counts': return <CountsScreen />;
    case 'imports': return <ImportsScreen />;
    case 'reports': return <ReportsScreen report="low-stock" />;
    case 'webhooks': return <WebhooksScreen />;
    case 'drift': return <DriftScreen />;
    case 'blocked': return <BlockedScreen />;
    case 'trail': return <TrailScreen />;
    case 'keys': return <KeysScreen />;
    case 'staff': return <StaffScreen />;
    case 'account': return <AccountScreen />;
    case 'system': return <SystemScreen />;
    default: return null;
  }
}

function Switches() {
  const { look } = use_shell();
  return (
    <div class="switches">
      <select aria-label={look.say('language')} value={look.language.value}
        onChange={(event) => { look.language.value = event.currentTarget.value as Language; }}>
        <option value="en" lang="en">English</option>
        <option value="zh" lang="zh-CN">简体中文</option>
      </select>
      <select aria-label={look.say('theme')} value={look.theme.value}
        onChange={(event) => { look.theme.value = event.currentTarget.value as Theme; }}>
        <option value="auto">{look.say('theme.auto')}</option>
        <option value="light">{look.say('theme.light')}</option>
        <option value="dark">{look.say('theme.dark')}</option>
      </select>
    </div>
  );
}

function Navigation({ first }: { first: string }) {
  const { look, session } = use_shell();
  return (
    <nav aria-label={look.say('navigation')}>
      <ul>
        {places.filter(([, , needs]) => session.may(needs)).map(([place, says]) => (
          <li key={place}>
            <a href={address_of([place])} aria-current={place === first ? 'page' : undefined}>
              {look.say(says)}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Oneself({ first }: { first: string }) {
  const { api, look, notices, session } = use_shell();
  const sign_out = async () => {
    try {
      await api.sign_out();
    } catch (fault) {
      notices.refused(fault_text(look, fault));
    }
  };
  return (
    <div class="switches">
      <a href={address_of(['account'])} aria-current={first === 'account' ? 'page' : undefined}
        aria-label={look.say('account.of', { name: session.caller.value?.name ?? '' })}>
        {session.caller.value?.name}
      </a>
      <button type="button" onClick={() => void sign_out()}>{look.say('sign_out')}</button>
    </div>
  );
}

// A tab that was left alone asks who is signed in before it is used again: the session may have
// ended, and rights may have changed.
function use_fresh_caller() {
  const { api } = use_shell();
  useEffect(() => {
    const look_again = () => {
      if (document.visibilityState === 'visible')
        void api.find_caller().catch(() => undefined); // the next request says what is wrong
    };
    document.addEventListener('visibilitychange', look_again);
    return () => document.removeEventListener('visibilitychange', look_again);
  }, []);
}

function title_of(first: string): Key | undefined {
  if (first === 'account') return 'account.title';
  return places.find(([name]) => name === first)?.[1];
}

function SignedIn() {
  const { look, router } = use_shell();
  const place = router.place.value;
  const first = place.path[0] ?? 'stock';
  const main = useRef<HTMLElement>(null);
  const title = title_of(first);
  const where = place.path.join('/');
  const was = useRef(where);
  use_title(title ? look.say(title) : null);
  use_fresh_caller();
  // A new screen is a new page also for whoever does not see it: the focus goes to its beginning.
  useEffect(() => {
    if (was.current === where) return;
    was.current = where;
    main.current?.focus();
  }, [where]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        main.current?.focus();
      }}>{look.say('skip')}</a>
      <header class="top">
        <strong>Holdfast</strong>
        <Navigation first={first} />
        <Switches />
        <Oneself first={first} />
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {screen_at(place) ?? <h1>{look.say('nowhere')}</h1>}
      </main>
    </>
  );
}

export function App() {
  const { api, router, session } = use_shell();
  const looked = use_loaded((stop) => api.find_caller(stop), []);
  const invitation = invitation_at(router.place.value);
  return (
    <>
      {session.caller.value && invitation === null ? <SignedIn /> : (
        <>
          <header class="top"><strong>Holdfast</strong><Switches /></header>
          {invitation !== null ? <InvitationScreen key={invitation.token} {...invitation} />
            : <Shown loaded={looked}>{() => <SignInScreen />}</Shown>}
        </>
      )}
      <NoticeList />
    </>
  );
}
