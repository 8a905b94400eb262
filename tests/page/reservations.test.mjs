// SPDX-License-Identifier: Apache-2.0
// What is promised and to whom, found by what a customer on the telephone knows.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { workplace } from './desk.mjs';
import { dialog, line_of, said, wait_for } from './seen.mjs';
import { unique } from './shop.mjs';
import { eventually } from './waiting.mjs';

describe('reservations', { concurrency: false }, () => {
  const { desk_test } = workplace();

  desk_test('no reservation yet is said', async (desk) => {
    const page = await desk.go('reservations');
    await wait_for(page.getByText('No reservations here.'));
  });

  desk_test('a hold is found by customer, by reference and by state', async (desk) => {
    const sku = await desk.shop.item(20);
    const customer = unique('customer');
    await desk.shop.hold(sku, 1, { customer, reference: unique('order') });
    const sold = await desk.shop.hold(sku, 2, { customer, reference: unique('order') });
    await desk.shop.confirm(sold.id);
    await desk.shop.hold(sku, 3, { customer: unique('customer') });

    const page = await desk.go('reservations');
    const rows = page.getByRole('table').getByRole('row');
    await eventually('three reservations and a head', async () => await rows.count() === 4);
    await page.getByLabel('Customer').fill(customer);
    await page.getByRole('button', { name: 'Apply filter' }).click();
    await eventually('two reservations and a head', async () => await rows.count() === 3);
    await page.getByLabel('State').selectOption('confirmed');
    await page.getByRole('button', { name: 'Apply filter' }).click();
    await eventually('one reservation and a head', async () => await rows.count() === 2);
    assert.match(page.url(), new RegExp(`state=confirmed.*customer=${customer}|customer=.*state=`));

    await page.reload();
    await wait_for(line_of(page, `2 × ${sku}`));
    assert.equal(await page.getByLabel('Customer').inputValue(), customer);
    await page.getByRole('link', { name: sold.reference }).click();
    await wait_for(page.getByText('Confirmed').first());
    await page.goBack();
    await wait_for(line_of(page, `2 × ${sku}`));
  });

  desk_test('units of items written from right to left stay in their order', async (desk) => {
    const lines = [];
    for (const sku of ['כובע', 'צעיף'])
      lines.push({ sku: await desk.shop.item(9, { sku }), quantity: lines.length + 2 });
    const reference = unique('order');
    await desk.shop.send('POST', '/v1/reservations', { lines, reference });
    const page = await desk.go(`reservations?reference=${reference}`);
    const names = line_of(page, reference).locator('bdi');
    await wait_for(names.nth(1));
    const [first, second] = [await names.nth(0).boundingBox(), await names.nth(1).boundingBox()];
    assert.ok(first.x < second.x, `${first.x} is left of ${second.x}`);
  });

  desk_test('a hold is extended from now on, with the reason in the trail', async (desk) => {
    const sku = await desk.shop.item(5);
    const hold = await desk.shop.hold(sku, 1, { ttl_seconds: 600 });
    const page = await desk.go(`reservations/${hold.id}`);
    await page.getByRole('button', { name: 'Extend' }).click();
    await dialog(page, 'Extend').getByLabel('Minutes').fill('45');
    await dialog(page, 'Extend').getByLabel('Reason').fill('the bank is slow');
    await dialog(page, 'Extend').getByRole('button', { name: 'Extend' }).click();
    await said(page, `Extended: ${hold.id}`);

    const now = await desk.shop.reservation(hold.id);
    const minutes = (Date.parse(now.expires_at) - Date.now()) / 60_000;
    assert.ok(minutes > 43 && minutes <= 45, `${minutes} minutes are left`);
    await desk.go('trail');
    await wait_for(line_of(page, 'the bank is slow'));
  });

  desk_test('a hold is released with its reason, and its units are free again', async (desk) => {
    const sku = await desk.shop.item(5);
    const hold = await desk.shop.hold(sku, 4, { reference: unique('order') });
    const page = await desk.go(`reservations/${hold.id}`);
    await page.getByRole('button', { name: 'Release' }).click();
    const ask = dialog(page, 'Give these units back?');
    // Without a reason nothing is sent.
    await ask.getByRole('button', { name: 'Release' }).click();
    assert.equal(await ask.getByLabel('Reason').evaluate((box) => box.validity.valueMissing), true);
    await ask.getByLabel('Reason').fill('the customer rang');
    await ask.getByRole('button', { name: 'Release' }).click();
    await said(page, `Released: ${hold.reference}`);
    await wait_for(page.getByRole('button', { name: 'Release' }), 'detached');

    assert.equal((await desk.shop.level(sku)).available, 5);
    await desk.go(`stock/${sku}`);
    await wait_for(line_of(page, 'the customer rang'));
  });

  desk_test('Esc and the cross leave a hold as it is', async (desk) => {
    const hold = await desk.shop.hold(await desk.shop.item(5), 1);
    const page = await desk.go(`reservations/${hold.id}`);
    const release = page.getByRole('button', { name: 'Release' });
    for (const leave of [
      () => page.keyboard.press('Escape'),
      () => dialog(page).getByRole('button', { name: 'Close' }).click(),
      () => dialog(page).getByRole('button', { name: 'Cancel' }).click(),
    ]) {
      await release.click();
      await wait_for(dialog(page));
      await leave();
      await wait_for(dialog(page), 'detached');
      await eventually('the focus back on its button',
        () => release.evaluate((button) => button === document.activeElement));
    }
    assert.equal((await desk.shop.reservation(hold.id)).state, 'held');
  });

  desk_test('what was sold meanwhile cannot be released, and the page says so', async (desk) => {
    const hold = await desk.shop.hold(await desk.shop.item(5), 1);
    const page = await desk.go(`reservations/${hold.id}`);
    await page.getByRole('button', { name: 'Release' }).click();
    await desk.shop.confirm(hold.id);
    desk.provoke(409);
    await dialog(page).getByLabel('Reason').fill('too late');
    await dialog(page).getByRole('button', { name: 'Release' }).click();
    await said(page, 'It is sold already.');
    await wait_for(page.locator('main .badge').getByText('Confirmed'));
    await wait_for(page.getByRole('button', { name: 'Release' }), 'detached');
  });

  desk_test('a reservation that is none is said to be none', async (desk) => {
    desk.provoke(404);
    const page = await desk.go('reservations/00000000-0000-7000-8000-000000000000');
    await wait_for(page.getByText('There is no such reservation.'));
  });
});
