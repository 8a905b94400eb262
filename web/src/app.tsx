// SPDX-License-Identifier: Apache-2.0
// The frame around every screen: where one can go, who one is, how it looks.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Language, Theme } from './look';
import { address_of, type Place } from './route';
import { BlockedScreen } from './screens/blocked';
import { DriftScreen } from './screens/drift';
import { ImportsScreen } from './screens/imports';
import { ItemScreen } from './screens/item';
import { LiveScreen } from './screens/live';
import { ReservationScreen, ReservationsScreen } from './screens/reservations';
import { SignInScreen } from './screens/sign_in';
import { StockScreen } from './screens/stock';
import { SystemScreen } from './screens/system';
import { TrailScreen } from './screens/trail';
import { WebhookScreen, WebhooksScreen } from './screens/webhooks';
import { use_shell } from './shell';
import type { Key } from './text/en';
import { NoticeList } from './widgets/notices';
import { Nothing } from './widgets/outcome';

const places: readonly (readonly [string, Key])[] = [
  ['stock', 'stock.title'], ['reservations', 'reservations.title'], ['live', 'live.title'],
  ['imports', 'imports.title'], ['webhooks', 'webhooks.title'], ['drift', 'drift.title'],
  ['blocked', 'blocked.title'], ['trail', 'trail.title'], ['system', 'system.title'],
];

function screen_at({ path }: Place): ComponentChildren {
  const [first = 'stock', second, ...rest] = path;
  if (rest.length > 0) return null;
  if (second !== undefined) {
    if (first === 'stock') return <ItemScreen key={second} sku={second} />;
    if (first === 'reservations') return <ReservationScreen key={second} id={second} />;
    if (first === 'webhooks') return <WebhookScreen key={second} id={second} />;
    return null;
  }
  switch (first) {
    case 'stock': return <StockScreen />;
    case 'reservations': return <ReservationsScreen />;
    case 'live': return <LiveScreen />;
    case 'imports': return <ImportsScreen />;
    case 'webhooks': return <WebhooksScreen />;
    case 'drift': return <DriftScreen />;
    case 'blocked': return <BlockedScreen />;
    case 'trail': return <TrailScreen />;
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
  const { look } = use_shell();
  return (
    <nav aria-label={look.say('navigation')}>
      <ul>
        {places.map(([place, says]) => (
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

function SignedIn() {
  const { look, router, session } = use_shell();
  const place = router.place.value;
  const first = place.path[0] ?? 'stock';
  const main = useRef<HTMLElement>(null);
  const title = places.find(([name]) => name === first)?.[1];
  const where = place.path.join('/');
  const was = useRef(where);
  // A new screen is a new page also for whoever does not see it: the focus goes to its beginning.
  useEffect(() => {
    document.title = title ? `${look.say(title)} · Holdfast` : 'Holdfast';
    if (was.current === where) return;
    was.current = where;
    main.current?.focus();
  }, [where, look.language.value]);
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
        <button type="button" onClick={() => session.end('signed_out')}>
          {look.say('sign_out')}
        </button>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {screen_at(place) ?? <Nothing>{look.say('nowhere')}</Nothing>}
      </main>
    </>
  );
}

export function App() {
  const { session } = use_shell();
  return (
    <>
      {session.is_open.value ? <SignedIn /> : (
        <>
          <header class="top"><strong>Holdfast</strong><Switches /></header>
          <SignInScreen />
        </>
      )}
      <NoticeList />
    </>
  );
}
