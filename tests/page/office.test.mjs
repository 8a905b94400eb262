// SPDX-License-Identifier: Apache-2.0
// What keeps a shop running: webhooks, drift, blocked customers, the trail and the system.
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { workplace } from './desk.mjs';
import { start_receiver } from './receiver.mjs';
import { start_redis } from './redis.mjs';
import { dialog, line_of, said, section, wait_for } from './seen.mjs';
import { unique } from './shop.mjs';
import { eventually } from './waiting.mjs';

describe('office', { concurrency: false }, () => {
  let redis;
  let receiver;
  const environment = {
    HOLDFAST_WEBHOOK_ALLOW: '127.0.0.0/8',
    HOLDFAST_WEBHOOK_RETRY_SECONDS: '0',
    // Nothing is put right by itself, so that there is something to see and to repair.
    HOLDFAST_REDIS_REPAIR_MAX: '0',
  };
  before(async () => {
    redis = await start_redis();
    environment.HOLDFAST_REDIS_URL = redis.url;
    receiver = await start_receiver();
  });
  const { desk_test } = workplace({ environment });
  after(async () => {
    await receiver?.end();
    await redis?.end();
  });

  desk_test('a webhook is registered, tested, paused, rekeyed and deleted', async (desk) => {
    const page = await desk.go('webhooks');
    await wait_for(page.getByText('No webhook is registered.'));
    await page.getByRole('button', { name: 'New webhook' }).click();
    const form = dialog(page, 'New webhook');
    await form.getByLabel('Address').fill(receiver.url);
    await form.getByLabel('Description').fill('Warehouse');
    await form.getByLabel('stock.adjusted').check();
    await form.getByRole('button', { name: 'Register' }).click();
    const secret = await dialog(page, 'Signing secret').locator('.secret').innerText();
    assert.match(secret, /^whsec_/);
    await page.keyboard.press('Escape');
    await wait_for(dialog(page), 'detached');
    await wait_for(line_of(page, 'Warehouse').getByText('Active'));

    await page.getByRole('link', { name: 'Warehouse' }).click();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await said(page, 'Warehouse: Test is sent');
    await eventually('a call of the receiver', () => receiver.calls.length > 0);
    await reloaded(page, line_of(section(page, 'Deliveries'), 'Delivered'));

    await page.getByRole('button', { name: 'Pause' }).click();
    await wait_for(page.getByRole('button', { name: 'Activate' }));
    await page.getByRole('button', { name: 'Activate' }).click();
    await wait_for(page.getByRole('button', { name: 'Pause' }));

    await page.getByRole('button', { name: 'New secret' }).click();
    await dialog(page).getByRole('button', { name: 'New secret' }).click();
    const next = await dialog(page, 'Signing secret').locator('.secret').innerText();
    assert.notEqual(next, secret);
    await page.keyboard.press('Escape');
    await wait_for(dialog(page), 'detached');

    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await said(page, 'Warehouse: Webhook deleted');
    await wait_for(page.getByText('No webhook is registered.'));
  });

  desk_test('what was not delivered is seen, found by its state and sent again', async (desk) => {
    receiver.answer_with(500);
    const { id } = await desk.shop.send('POST', '/v1/webhooks', { url: receiver.url });
    const sku = await desk.shop.item(3);
    const page = await desk.go(`webhooks/${id}?state=dead`);
    const deliveries = section(page, 'Deliveries');
    await reloaded(page, line_of(deliveries, sku));
    assert.match(await line_of(deliveries, sku).first().innerText(), /stock\.adjusted.*Dead.*500/s);

    receiver.answer_with(204);
    await line_of(deliveries, sku).first().getByRole('button', { name: 'Resend' }).click();
    await said(page, 'It is sent again');
    await page.getByLabel('State').selectOption('delivered');
    await page.getByRole('button', { name: 'Apply filter' }).click();
    await reloaded(page, line_of(deliveries, sku).getByText('Delivered'));

    await page.getByRole('button', { name: 'Replay' }).click();
    const before_replay = receiver.calls.length;
    await dialog(page).getByRole('button', { name: 'Replay' }).click();
    await said(page, 'Events are sent again');
    await eventually('a replayed call', () => receiver.calls.length > before_replay);
    await desk.shop.send('DELETE', `/v1/webhooks/${id}`);
  });

  desk_test('an address that webhooks may not have is refused in the form', async (desk) => {
    const page = await desk.go('webhooks');
    await page.getByRole('button', { name: 'New webhook' }).click();
    desk.provoke(400);
    await dialog(page).getByLabel('Address').fill('http://192.168.7.7/hook');
    await dialog(page).getByRole('button', { name: 'Register' }).click();
    await wait_for(dialog(page).getByRole('alert'));
    assert.equal(await dialog(page).getByLabel('Address').inputValue(), 'http://192.168.7.7/hook');
  });

  desk_test('drift is found, shown and repaired', async (desk) => {
    const page = await desk.go('drift');
    await page.getByRole('button', { name: 'Compare' }).click();
    await wait_for(page.getByText('Redis says what PostgreSQL says.'));
    await wait_for(page.getByText('No drift was ever found here.'));

    const sku = await desk.shop.item(20);
    await desk.shop.send('PUT', `/v1/fast-path/${sku}`, {});
    await meddle(desk.shop, redis, sku);
    const now = section(page, 'Compare now');
    await page.getByRole('button', { name: 'Compare' }).click();
    await wait_for(line_of(now, sku));
    assert.match(await line_of(now, sku).first().innerText(), /27/);

    await page.getByRole('button', { name: 'Repair Redis' }).click();
    await dialog(page).getByRole('button', { name: 'Repair Redis' }).click();
    await said(page, 'Repaired: 1');
    await wait_for(line_of(section(page, 'Found so far'), sku));
    await page.getByLabel('SKU').fill('another');
    await page.getByRole('button', { name: 'Apply filter' }).click();
    await wait_for(page.getByText('No drift was ever found here.'));
    await eventually('nothing that differs any more', async () => {
      await page.getByRole('button', { name: 'Compare' }).click();
      return page.getByText('Redis says what PostgreSQL says.').isVisible();
    });
  });

  desk_test('a customer is blocked and unblocked, and the trail has both', async (desk) => {
    const customer = unique('hoarder');
    const page = await desk.go('blocked');
    await wait_for(page.getByText('Nobody is blocked.'));
    await page.getByLabel('Customer').fill(customer);
    await page.getByLabel('Reason').fill('resells them all');
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await said(page, `${customer} is blocked`);
    await wait_for(line_of(page, customer).getByText('staff:Olga'));
    const sku = await desk.shop.item(5);
    await assert.rejects(desk.shop.hold(sku, 1, { customer }), /customer-blocked/);

    await page.getByRole('button', { name: `Unblock ${customer}` }).click();
    await dialog(page).getByRole('button', { name: 'Unblock' }).click();
    await said(page, `${customer} is not blocked any more`);
    await wait_for(page.getByText('Nobody is blocked.'));
    await desk.shop.hold(sku, 1, { customer });

    await desk.go('trail');
    await wait_for(line_of(page, 'customer.unblocked')); // drawn, and the filters are filled in
    await page.getByLabel('Subject').fill(`customer:${customer}`);
    await page.getByRole('button', { name: 'Apply filter' }).click();
    await eventually('these two and a head', async () =>
      await page.getByRole('table').getByRole('row').count() === 3);
    await wait_for(line_of(page, 'customer.unblocked'));
    await wait_for(line_of(page, 'customer.blocked').getByText('resells them all'));
  });

  desk_test('the trail leads to what it is about, and is found by who did it', async (desk) => {
    const sku = await desk.shop.item(5);
    const page = await desk.go('trail');
    await page.getByRole('link', { name: `item:${sku}` }).first().click();
    await wait_for(page.getByRole('heading', { name: sku, level: 1 }));
    await desk.go('trail?actor=nobody-of-this-name');
    await wait_for(page.getByText('Nothing is written down here.'));
  });

  desk_test('the system says that it is ready, what it counts, and proves it', async (desk) => {
    await desk.shop.hold(await desk.shop.item(9), 4);
    const page = await desk.go('system');
    await wait_for(section(page, 'Readiness').getByText('Ready'));
    const figures = section(page, 'Figures');
    await wait_for(figures.getByText(/^Holdfast \d+\.\d+\.\d+/));
    const reserved = figures.locator('.tiles > div').filter({ hasText: 'Units reserved' });
    assert.ok(Number((await reserved.locator('dd').innerText()).replaceAll(',', '')) >= 4);
    await page.getByRole('button', { name: 'Run the audit' }).click();
    await wait_for(section(page, 'Audit').getByText('Every number is proved'));
  });
});

// Writes into Redis until it is found out: as long as news of the item is on its way, the service
// takes what differs for late news and just puts it right.
async function meddle(shop, redis, sku) {
  const seen = () => shop.send('GET', `/v1/fast-path/${sku}`);
  const key = await redis.ask('KEYS', '*:state'); // there is but one such item
  await eventually('an item that Redis is not trusted with any more', async () => {
    await redis.ask('HINCRBY', key, 'a:main', '7');
    await eventually('a correction, or a stop', async () => {
      const { state, available } = await seen();
      return state === 'stopped' || available === 20;
    });
    return (await seen()).state === 'stopped';
  });
}

// Asks for the deliveries again and again until they show what is to come.
async function reloaded(page, line) {
  await eventually('a delivery in another state', async () => {
    await page.getByRole('button', { name: 'Reload' }).click();
    await wait_for(page.getByText('Loading…'), 'detached');
    return line.first().isVisible();
  });
}
