// SPDX-License-Identifier: Apache-2.0
// How one comes to each screen and each state of it, whatever the language. Each answers with what
// is there when it is all there.

const dialog = (page) => page.locator('dialog[open]');
const close_dialog = async ({ page }) => {
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
};
const row = (page) => page.locator('.grid .row[aria-selected]');
const file = (name, text) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });

// A screen whose address says all.
const plain = (name, address, ready) => ({
  name,
  async open(desk, facts) {
    const page = await desk.go(typeof address === 'string' ? address : address(facts));
    return page.locator(ready);
  },
});

// The present screen, after a click that opens a dialog.
const asked = (name, button) => ({
  name,
  async open({ page }) {
    await page.locator(button).first().click();
    return dialog(page);
  },
  leave: close_dialog,
});

async function edit_on_hand(page, to, reason) {
  await page.locator('.grid').focus();
  await page.keyboard.press('Enter');
  await page.locator('.editor select:not([name])').selectOption('main');
  await page.locator('.editor input').fill(to);
  await page.locator('.editor select[name=reason]').selectOption(reason);
}

export const views = [
  plain('stock', 'stock', '.grid .row[aria-selected]'),
  {
    name: 'stock-help',
    async open({ page }) {
      await page.locator('.grid').focus();
      await page.keyboard.press('?');
      return dialog(page);
    },
    leave: close_dialog,
  },
  {
    name: 'stock-editing',
    async open(desk, { sku }) {
      const page = await desk.go(`stock?q=${sku}`);
      await row(page).first().waitFor();
      await edit_on_hand(page, '1', 'damaged');
      return page.locator('.editor');
    },
  },
  {
    name: 'stock-refused',
    async open({ page }) {
      await page.locator('.editor button.main').click();
      return page.locator('.row.refused');
    },
    leave: ({ page }) => page.locator('.notice.refused button').click(),
  },
  plain('stock-nothing-found', 'stock?q=no-such-thing', '.nothing'),
  plain('item', ({ sku }) => `stock/${sku}`, '.chart canvas'),
  {
    name: 'item-conflict',
    async open({ page, shop }, { sku }) {
      const { max_per_customer } = await shop.level(sku);
      await page.locator('input[name=max_per_customer]').fill('7');
      const other = max_per_customer === 3 ? 4 : 3;
      await shop.send('PUT', `/v1/stock/${sku}`, { max_per_customer: other });
      await page.locator('form.columns button.main').click();
      return dialog(page);
    },
    leave: close_dialog,
  },
  plain('reservations', 'reservations', 'table'),
  plain('reservations-none', 'reservations?customer=nobody', '.nothing'),
  plain('reservation', ({ hold }) => `reservations/${hold.id}`, '.pairs'),
  asked('reservation-extend', 'main .actions button:not(.grave)'),
  asked('reservation-release', 'main .actions button.grave'),
  {
    name: 'live-fastest',
    async open(desk, { sku }) {
      const page = await desk.go('live');
      await page.locator('.badge.good').waitFor();
      await desk.shop.release((await desk.shop.hold(sku, 1, { customer: 'c-20' })).id);
      return page.locator('table');
    },
  },
  plain('live-item', ({ sku }) => `live?sku=${sku}`, '.chart canvas'),
  plain('imports', 'imports', '.drop'),
  {
    name: 'imports-preview',
    async open(desk, { sku }) {
      const page = await desk.go('imports');
      await page.locator('input[type=file]').setInputFiles(
        file('库存.csv', `sku,quantity,name\n${sku},30,Felt hat\nLOOK-NEW,3,灯\n`));
      return page.locator('section table');
    },
  },
  asked('imports-apply', 'section button.main'),
  {
    name: 'imports-faults',
    async open({ page }) {
      await page.locator('input[type=file]').setInputFiles(
        file('bad.csv', 'sku,quantity\nA,-1\n B,2\nC,many\n'));
      return page.locator('.failed + .scroller');
    },
  },
  plain('import', ({ made }) => `imports/${made.id}`, '.pairs'),
  asked('import-undo', 'button.grave'),
  plain('counts', 'counts', 'table'),
  asked('counts-new', 'button.main'),
  plain('count', ({ count }) => `counts/${count.id}`, 'section table'),
  asked('count-apply', '.actions button.main'),
  plain('report-low-stock', 'reports', 'table'),
  plain('report-held-longest', 'reports/held-longest', 'table'),
  plain('report-movements', 'reports/movements', 'table'),
  plain('webhooks', 'webhooks', 'table'),
  asked('webhooks-new', '.bar button.main'),
  plain('webhook', ({ webhook }) => `webhooks/${webhook.id}`, 'table'),
  plain('drift', 'drift', 'section .nothing'),
  plain('blocked', 'blocked', 'table'),
  asked('blocked-unblock', 'table button'),
  plain('trail', 'trail', 'table'),
  plain('keys', 'keys', 'table, .nothing'),
  asked('keys-new', '.bar button.main'),
  plain('staff', 'staff', 'table'),
  asked('staff-new', '.bar button.main'),
  asked('staff-role', 'table button'),
  plain('account', 'account', 'form'),
  {
    name: 'system',
    async open(desk) {
      const page = await desk.go('system');
      await page.locator('.tiles').waitFor();
      await page.locator('section button').click();
      return page.locator('section p[role=status] .badge');
    },
  },
  plain('nowhere', 'nowhere', 'main h1'),
  {
    name: 'loading',
    async open(desk) {
      await desk.page.route('**/v1/trail*', () => { /* never answered */ });
      const page = await desk.go('trail?actor=somebody');
      return page.locator('.waiting');
    },
    leave: ({ page }) => page.unroute('**/v1/trail*'),
  },
  {
    name: 'outage',
    async open(desk) {
      await desk.page.route('**/v1/blocked-customers*', (route) => route.abort());
      const page = await desk.go('blocked');
      return page.locator('.failed');
    },
    leave: ({ page }) => page.unroute('**/v1/blocked-customers*'),
  },
];

export const views_from_outside = [
  plain('sign-in', 'stock', '.sign-in form'),
  {
    name: 'sign-in-refused',
    async open({ page }) {
      await page.locator('[name=name]').fill('Nobody');
      await page.locator('[name=password]').fill('not a password of anybody');
      await page.locator('button.main').click();
      return page.locator('.failed');
    },
  },
  {
    name: 'welcome',
    async open({ page, service }) {
      await page.goto(`${service.url}/admin/#first=0123456789abcdef`);
      return page.locator('.sign-in form');
    },
  },
];
