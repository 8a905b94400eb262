// SPDX-License-Identifier: Apache-2.0
// One item: what there is, why, how it came to that, and the rules it is sold by.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { workplace } from './desk.mjs';
import { cells_of, dialog, line_of, said, section, wait_for } from './seen.mjs';
import { eventually } from './waiting.mjs';

describe('item', { concurrency: false }, () => {
  const { desk_test } = workplace();

  desk_test('an item shows its levels, its reasons, its chart and its ledger', async (desk) => {
    const sku = await desk.shop.item(20, { name: 'Felt hat' });
    await desk.shop.adjust(sku, { location: 'attic', delta: 5, reason: 'found' });
    const sold = await desk.shop.hold(sku, 3);
    await desk.shop.confirm(sold.id);
    const held = await desk.shop.hold(sku, 2, { reference: 'order-77', customer: 'c-1' });

    const page = await desk.go(`stock/${sku}`);
    await wait_for(page.getByRole('heading', { name: 'Felt hat', level: 1 }));
    const levels = section(page, 'Levels');
    assert.deepEqual(await cells_of(line_of(levels, 'attic')), ['attic', '5', '0', '5', '–']);
    assert.deepEqual(await cells_of(line_of(levels, 'main')), ['main', '17', '2', '15', '–']);

    const why = section(page, 'Why these numbers');
    await wait_for(why.getByText('main: 17 on hand, 2 reserved'));
    await wait_for(why.getByText('-3 Sold (movements: 1)'));
    await wait_for(why.getByText('+5 Adjusted, found'));
    await wait_for(why.getByText(/units until .*, order-77, c-1/));

    const chart = section(page, 'Over time');
    await chart.getByLabel('Location').selectOption('main');
    await wait_for(chart.locator('canvas'));
    await wait_for(chart.getByText('On hand went from 20 to 17; now reserved: 2.'));

    const ledger = section(page, 'Ledger');
    await wait_for(line_of(ledger, 'Adjusted, found'));
    await ledger.getByRole('link', { name: 'Reservation' }).first().click();
    await wait_for(page.getByText(held.id));
  });

  desk_test('two clerks see each other’s change without loading anew', async (desk) => {
    const sku = await desk.shop.item(10);
    const other = await desk.colleague();
    const [mine, theirs] = [await desk.go(`stock/${sku}`), await other.go(`stock/${sku}`)];
    await wait_for(on_hand_button(theirs, sku, 10));

    await set_on_hand(mine, sku, { from: 10, to: 8 });
    await said(mine, `${sku}: 8 on hand`);
    await wait_for(on_hand_button(theirs, sku, 8));
    await wait_for(line_of(section(theirs, 'Ledger'), 'damaged'));

    await set_on_hand(theirs, sku, { from: 8, to: 6 });
    await said(theirs, `${sku}: 6 on hand`);
    await wait_for(on_hand_button(mine, sku, 6));
  });

  desk_test('a change of the number leaves what is typed into the settings', async (desk) => {
    const sku = await desk.shop.item(10);
    const page = await desk.go(`stock/${sku}`);
    const name = section(page, 'Settings').getByLabel('Name');
    await name.fill('Half a na');
    await desk.shop.adjust(sku, { delta: -1, reason: 'lost' });
    await wait_for(on_hand_button(page, sku, 9));
    assert.equal(await name.inputValue(), 'Half a na');
  });

  desk_test('a refused number is taken back, and said above the levels', async (desk) => {
    const sku = await desk.shop.item(10);
    await desk.shop.hold(sku, 8);
    const page = await desk.go(`stock/${sku}`);
    desk.provoke(409);
    await set_on_hand(page, sku, { from: 10, to: 5 });
    const levels = section(page, 'Levels');
    await wait_for(levels.getByText(`${sku} was not changed. That is less than is reserved.`));
    await wait_for(on_hand_button(page, sku, 10));

    await levels.getByRole('button', { name: 'Save anyway' }).click();
    await wait_for(on_hand_button(page, sku, 5));
    // The number is shown at once, what is short comes with the answer.
    await eventually('so many that are short',
      async () => (await cells_of(line_of(levels, 'main'))).at(-1) === '3');
  });

  desk_test('settings are saved, and only those that differ', async (desk) => {
    const sku = await desk.shop.item(10, { max_per_customer: 2 });
    const page = await desk.go(`stock/${sku}`);
    const settings = section(page, 'Settings');
    await settings.getByLabel('Name').fill('Wool scarf');
    await settings.getByLabel('Low stock at').fill('3');
    await settings.getByLabel('Sale starts').fill('2031-05-06T10:00');
    await settings.getByRole('button', { name: 'Save' }).click();
    await said(page, `Settings of ${sku} saved`);
    await wait_for(page.getByRole('heading', { name: 'Wool scarf', level: 1 }));

    const item = await desk.shop.level(sku);
    assert.equal(item.name, 'Wool scarf');
    assert.equal(item.low_stock_at, 3);
    assert.equal(item.max_per_customer, 2);
    assert.equal(Date.parse(item.sale_starts_at), Date.parse('2031-05-06T10:00:00+08:00'));
  });

  desk_test('settings that a colleague changed are laid beside one’s own', async (desk) => {
    const sku = await desk.shop.item(10, { name: 'Cap' });
    const other = await desk.colleague();
    const [mine, theirs] = [await desk.go(`stock/${sku}`), await other.go(`stock/${sku}`)];
    await save_name(mine, 'My cap', async () => {
      await section(theirs, 'Settings').getByLabel('Name').fill('Their cap');
    });
    await said(mine, `Settings of ${sku} saved`);

    other.provoke(412);
    await section(theirs, 'Settings').getByRole('button', { name: 'Save' }).click();
    const conflict = dialog(theirs, 'Somebody else changed this item');
    assert.deepEqual(await cells_of(line_of(conflict, 'Name').last()),
      ['Name', 'Cap', 'My cap', 'Their cap']);
    await conflict.getByRole('button', { name: 'Leave as it is now' }).click();
    await wait_for(theirs.getByRole('heading', { name: 'My cap', level: 1 }));
    await eventually('my name in their form', async () =>
      await section(theirs, 'Settings').getByLabel('Name').inputValue() === 'My cap');
    assert.equal((await desk.shop.level(sku)).name, 'My cap');

    await save_name(theirs, 'Our cap');
    await said(theirs, `Settings of ${sku} saved`);
    desk.provoke(412);
    await save_name(mine, 'Mine all the same');
    await dialog(mine).getByRole('button', { name: 'Save mine' }).click();
    await eventually('what was insisted on',
      async () => (await desk.shop.level(sku)).name === 'Mine all the same');
  });

  desk_test('a setting that was typed back is not put back over somebody else’s', async (desk) => {
    const sku = await desk.shop.item(10, { name: 'Cap' });
    const page = await desk.go(`stock/${sku}`);
    const settings = section(page, 'Settings');
    await settings.getByLabel('Name').fill('Hat');
    await settings.getByLabel('Name').fill('Cap');
    await settings.getByLabel('Low stock at').fill('3');
    await desk.shop.send('PUT', `/v1/stock/${sku}`, { name: 'Bonnet' });
    desk.provoke(412);
    await settings.getByRole('button', { name: 'Save' }).click();
    await dialog(page).getByRole('button', { name: 'Save mine' }).click();
    await said(page, `Settings of ${sku} saved`);
    assert.equal(await settings.getByLabel('Name').inputValue(), 'Bonnet');
    const item = await desk.shop.level(sku);
    assert.deepEqual([item.name, item.low_stock_at], ['Bonnet', 3]);
  });

  desk_test('settings whose answer was lost are no conflict with oneself', async (desk) => {
    desk.provoke('outage', 412);
    const sku = await desk.shop.item(10);
    const page = await desk.go(`stock/${sku}`);
    const settings = section(page, 'Settings');
    await page.route(`**/v1/stock/${sku}`, async (route) => {
      if (route.request().method() !== 'PUT') return route.continue();
      await route.fetch();
      return route.abort('connectionreset');
    });
    await settings.getByLabel('Name').fill('Beret');
    await settings.getByRole('button', { name: 'Save' }).click();
    await wait_for(settings.getByRole('alert').getByText('we do not know whether this was done'));
    assert.equal(await settings.getByLabel('Name').inputValue(), 'Beret');
    await page.unroute(`**/v1/stock/${sku}`);
    await settings.getByRole('button', { name: 'Save' }).click();
    await said(page, `Settings of ${sku} saved`);
    assert.equal(await dialog(page).count(), 0);
    assert.equal((await desk.shop.level(sku)).name, 'Beret');
  });

  desk_test('a sale is paused by one button, and nothing is reserved then', async (desk) => {
    const sku = await desk.shop.item(10);
    const page = await desk.go(`stock/${sku}`);
    await page.getByRole('button', { name: 'Pause the sale' }).click();
    await wait_for(page.getByText('The sale is paused: nothing can be reserved.'));
    await said(page, `Settings of ${sku} saved`);
    await assert.rejects(desk.shop.hold(sku, 1), /not-on-sale/);
    await page.getByRole('button', { name: 'Resume the sale' }).click();
    await wait_for(page.getByText('On sale, without an end.'));
    await eventually('a sale again', async () => (await desk.shop.level(sku)).on_sale);
  });

  desk_test('two clicks in a row pause a sale, and do not take that back', async (desk) => {
    const sku = await desk.shop.item(10);
    const page = await desk.go(`stock/${sku}`);
    const changes = [];
    page.on('request', (asked) => { if (asked.method() === 'PUT') changes.push(asked.url()); });
    await page.getByRole('button', { name: 'Pause the sale' }).click();
    const resume = page.getByRole('button', { name: 'Resume the sale' });
    await said(page, `Settings of ${sku} saved`);
    const { x, y } = await resume.boundingBox();
    await page.mouse.move(x + 5, y + 5);
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await page.reload();
    await wait_for(page.getByRole('button', { name: 'Resume the sale' }));
    assert.equal(changes.length, 1);
  });

  desk_test('a movement made while the ledger is being asked for is in it', async (desk) => {
    const sku = await desk.shop.item(10);
    const answering = resolvers();
    let held = null;
    const where = `**/v1/stock/${sku}/movements?*`;
    await desk.page.route(where, async (route) => {
      if (held) return route.continue();
      held = route.fetch();
      const response = await held;
      await answering.promise;
      return route.fulfill({ response });
    });
    const page = await desk.go(`stock/${sku}`);
    await eventually('an answer that is under way', () => held);
    await held;
    await desk.shop.adjust(sku, { delta: 7, reason: 'found', note: 'behind the shelf' });
    await wait_for(on_hand_button(page, sku, 17));
    answering.resolve();
    await wait_for(line_of(page, 'behind the shelf'));
    await page.unroute(where);
  });

  desk_test('what browsers take for a step in an address is not asked for', async (desk) => {
    await desk.shop.import_csv('sku,quantity\n..,5\n');
    const page = desk.page;
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await desk.go('stock?q=..');
    await page.getByRole('button', { name: 'On hand 5, edit' }).click();
    await page.getByRole('textbox', { name: 'On hand' }).fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    await said(page, /A browser cannot ask for what is called/);
    await desk.go('stock/..');
    await wait_for(page.getByRole('alert').getByText('A browser cannot ask for').first());
    assert.deepEqual(asked.filter((path) => path === '/v1/adjustments' || path === '/v1/'), []);
  });

  desk_test('an item that is none is said to be none', async (desk) => {
    desk.provoke(404);
    const page = await desk.go('stock/NO-SUCH-ITEM');
    await wait_for(page.getByRole('alert').getByText('There is no such item.'));
  });

  desk_test('an address without a screen says so', async (desk) => {
    const page = await desk.go('stock/a/b/c');
    await wait_for(page.getByText('There is nothing at this address.'));
    assert.equal(await dialog(page).count(), 0);
  });
});

function resolvers() {
  const made = {};
  made.promise = new Promise((resolve) => { made.resolve = resolve; });
  return made;
}

const on_hand_button = (page, sku, n) =>
  page.getByRole('button', { name: `On hand ${n} of ${sku} at main, edit` });

// `meanwhile` happens when the form is there and nothing is saved yet.
async function save_name(page, name, meanwhile = async () => {}) {
  const settings = section(page, 'Settings');
  await settings.getByLabel('Name').fill(name);
  await meanwhile();
  await settings.getByRole('button', { name: 'Save' }).click();
}

async function set_on_hand(page, sku, { from, to }) {
  await on_hand_button(page, sku, from).click();
  const editor = page.getByRole('form', { name: `Change what is on hand of ${sku}` });
  await editor.getByLabel('On hand').fill(String(to));
  await editor.getByLabel('Reason').selectOption('damaged');
  await editor.getByRole('button', { name: 'Save' }).click();
}
