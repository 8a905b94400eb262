// SPDX-License-Identifier: Apache-2.0
// Every screen in both themes: nothing that axe-core finds fault with, and a picture in both
// languages for people to look at.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { workplace } from './desk.mjs';
import { look_at, take_picture } from './looking.mjs';
import { wait_for } from './seen.mjs';
import { views, views_from_outside } from './views.mjs';

// The document is the same in both; in the second only what depends on colours can be another.
const themes = [['light', undefined], ['dark', ['color-contrast', 'link-in-text-block']]];
const telephone = { width: 390, height: 844 };
const views_on_the_telephone = ['stock', 'item', 'reservations', 'imports-preview', 'live-item',
  'count'];

describe('looks', { concurrency: false }, () => {
  const { desk_test, place } = workplace();
  let facts = null;
  const furnished = async () => (facts ??= await furnish(place.shop));

  // In all languages and themes one after the other, without loading anew: the page follows the
  // system and its own switch, which is out of reach behind a dialog.
  async function look_at_all(desk, all) {
    const found = [];
    const { page } = desk;
    for (const view of all) {
      await wait_for(await view.open(desk, facts));
      for (const language of ['en', 'zh']) {
        await speak(page, language);
        for (const [theme, rules] of themes) {
          await page.emulateMedia({ colorScheme: theme });
          const name = `${view.name}.${language}.${theme}`;
          await take_picture(page, name);
          if (language === 'en') found.push(...await look_at(page, name, rules));
        }
        await page.emulateMedia({ colorScheme: themes[0][0] });
      }
      await speak(page, 'en');
      await view.leave?.(desk, facts);
    }
    assert.deepEqual(found, []);
  }

  desk_test('every screen is in order', async (desk) => {
    await furnished();
    desk.provoke(400, 409, 412, 'outage');
    await look_at_all(desk, views);
  });

  desk_test('the door is in order', async (desk) => {
    desk.provoke(401);
    await look_at_all(desk, views_from_outside);
  }, { as: null });

  desk_test('a telephone shows it all without scrolling sideways', async (desk) => {
    await furnished();
    const faults = [];
    for (const view of views.filter(({ name }) => views_on_the_telephone.includes(name))) {
      await wait_for(await view.open(desk, facts));
      await take_picture(desk.page, `${view.name}.telephone`);
      faults.push(...await look_at(desk.page, `${view.name}.telephone`));
      const wide = await desk.page.evaluate(() => document.documentElement.scrollWidth);
      if (wide > telephone.width) faults.push(`${view.name} is ${wide} pixels wide`);
      await view.leave?.(desk, facts);
    }
    assert.deepEqual(faults, []);
  }, { viewport: telephone });
});

async function speak(page, language) {
  await page.evaluate((wanted) => {
    const choice = document.querySelector('.switches select');
    choice.value = wanted;
    choice.dispatchEvent(new Event('change', { bubbles: true }));
  }, language);
  await page.locator(`html[lang^=${language}]`).waitFor();
}

// A shop in which every screen has something to show.
async function furnish(shop) {
  const names = ['Felt hat, grey', '纸灯笼', 'Enamel mug, blue', '茶杯', 'Wool scarf'];
  for (const [index, name] of names.entries())
    await shop.item(10 * index, { sku: `LOOK-${index}`, name, low_stock_at: 12 });
  await shop.item(6, { sku: 'LOOK-PAUSED', name: 'Paused for now', on_sale: false });
  const sku = await shop.item(40, { sku: 'HAT-RED', name: 'Felt hat, red', max_per_customer: 5 });
  await shop.adjust(sku, { delta: -2, reason: 'damaged', note: 'fell off the shelf' });
  await shop.adjust(sku, { delta: 12, reason: 'received', location: 'attic' });
  const sold = await shop.hold(sku, 3, { customer: 'c-17', reference: 'order-1017' });
  await shop.confirm(sold.id);
  const hold = await shop.hold(sku, 2, {
    customer: 'c-18', reference: 'order-1018', ttl_seconds: 86_400, metadata: { channel: 'shop' },
  });
  await shop.release((await shop.hold(sku, 1, { customer: 'c-19' })).id);
  const webhook = await shop.send('POST', '/v1/webhooks', {
    url: 'https://warehouse.example/hooks/holdfast', description: 'Warehouse',
    types: ['stock.adjusted', 'stock.low'],
  });
  await shop.send('PATCH', `/v1/webhooks/${webhook.id}`, { state: 'paused' });
  await shop.send('POST', `/v1/webhooks/${webhook.id}/test`, {});
  await shop.send('PUT', '/v1/blocked-customers/c-99', { reason: 'buys with stolen cards' });
  const made = await shop.import_csv('sku,quantity,name\nLOOK-IMPORTED,4,Glass bowl\n');
  const count = await shop.send('POST', '/v1/counts', { name: 'Shelf 4', sku_prefix: 'LOOK-' });
  await shop.send('PUT', `/v1/counts/${count.id}/entries`,
    { entries: [{ sku: 'LOOK-1', quantity: 8 }, { sku: 'LOOK-2', quantity: 20 }] },
    { 'Idempotency-Key': 'look-count' });
  return { sku, hold, webhook, made, count };
}
