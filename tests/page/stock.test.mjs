// SPDX-License-Identifier: Apache-2.0
// The stock grid: found, read and changed from the keyboard.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { workplace } from './desk.mjs';
import { count_of, figures_of, row_of, said, wait_for } from './seen.mjs';
import { unique } from './shop.mjs';
import { eventually } from './waiting.mjs';

describe('stock', { concurrency: false }, () => {
  const { desk_test } = workplace();

  desk_test('an empty shop is told how to begin', async (desk) => {
    const page = await desk.go('stock');
    await wait_for(page.getByText('There is nothing in stock yet.'));
    await page.getByRole('main').getByRole('link', { name: 'Import a file to begin' }).click();
    await wait_for(page.getByRole('heading', { name: 'Import', level: 1 }));
  });

  desk_test('a row says what there is and in what state', async (desk) => {
    const page = await desk.go('stock');
    const sku = await desk.shop.item(12, { name: 'Enamel mug', low_stock_at: 10 });
    await desk.shop.hold(sku, 3);
    const sold_out = await desk.shop.item(0);
    const paused = await desk.shop.item(5, { on_sale: false });
    await page.reload();

    assert.deepEqual(await figures_of(page, sku),
      [sku, 'Enamel mug', '12', '3', '9', 'Low']);
    assert.equal((await figures_of(page, sold_out)).at(-1), 'Sold out');
    assert.equal((await figures_of(page, paused)).at(-1), 'Paused');
  });

  desk_test('a search narrows the grid and stays in the address', async (desk) => {
    const word = unique('lantern');
    const sku = await desk.shop.item(4, { name: `Paper ${word}` });
    const other = await desk.shop.item(4);
    const page = await desk.go('stock');
    await wait_for(row_of(page, other));

    await page.getByRole('searchbox').fill(word);
    await wait_for(row_of(page, other), 'detached');
    await wait_for(row_of(page, sku));
    assert.match(page.url(), new RegExp(`#/stock\\?q=${word}$`));

    await page.reload();
    await wait_for(row_of(page, sku));
    assert.equal(await page.getByRole('searchbox').inputValue(), word);
    assert.equal(await count_of(page), 1);
  });

  desk_test('only low stock is a filter of the address too', async (desk) => {
    const low = await desk.shop.item(2, { low_stock_at: 5 });
    const plenty = await desk.shop.item(50, { low_stock_at: 5 });
    const page = await desk.go('stock');
    await wait_for(row_of(page, plenty));

    await page.getByLabel('Only low stock').check();
    await wait_for(row_of(page, plenty), 'detached');
    await wait_for(row_of(page, low));
    assert.match(page.url(), /low=true/);
  });

  desk_test('what matches nothing is said', async (desk) => {
    const page = await desk.go('stock?q=there-is-no-such-thing');
    await wait_for(page.getByText('Nothing matches this search.'));
  });

  desk_test('the grid is worked from the keyboard', async (desk) => {
    const word = unique('cup');
    const skus = [];
    for (const on_hand of [1, 2, 3])
      skus.push(await desk.shop.item(on_hand, { sku: `${word}-${on_hand}` }));
    const page = await desk.go('stock');
    await wait_for(page.getByRole('grid').getByRole('row').nth(1));

    await page.keyboard.press('?');
    await wait_for(page.getByRole('dialog', { name: 'Keys in the stock grid' }));
    await page.keyboard.press('Escape');
    await wait_for(page.getByRole('dialog'), 'detached');

    await page.keyboard.press('/');
    await page.keyboard.type(word);
    await eventually('three rows of the whole word', async () =>
      page.url().endsWith(`q=${word}`) && await count_of(page) === 3);
    await page.keyboard.press('Enter');
    assert.equal(await is_focused(page.getByRole('grid')), true);

    assert.equal(await current_sku(page), skus[0]);
    await page.keyboard.press('ArrowDown');
    assert.equal(await current_sku(page), skus[1]);
    await page.keyboard.press('End');
    assert.equal(await current_sku(page), skus[2]);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Home');
    assert.equal(await current_sku(page), skus[0]);

    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('o');
    await wait_for(page.getByRole('heading', { name: skus[1], level: 1 }));
    await page.goBack();
    await wait_for(row_of(page, skus[2]));
    assert.match(page.url(), new RegExp(`q=${word}`));
  });

  desk_test('a number is changed in its row, with a reason', async (desk) => {
    const sku = await desk.shop.item(10);
    const page = await desk.go(`stock?q=${sku}`);
    await wait_for(row_of(page, sku));

    await page.getByRole('grid').focus();
    await page.keyboard.press('Enter');
    await wait_for(page.getByRole('form', { name: `Change what is on hand of ${sku}` }));
    await page.keyboard.type('7');
    await page.getByLabel('Reason').selectOption('damaged');
    await page.getByLabel('On hand', { exact: true }).press('Enter');

    await said(page, `${sku}: 7 on hand`);
    assert.deepEqual((await figures_of(page, sku)).slice(2), ['7', '0', '7', 'On sale']);
    const { data: [movement] } = await desk.shop.send('GET', `/v1/stock/${sku}/movements`);
    assert.equal(movement.reason, 'damaged');
    assert.equal(movement.on_hand_delta, -3);
    assert.equal(await is_focused(page.getByRole('grid')), true, 'back in the grid');
  });

  desk_test('Esc leaves a number as it was', async (desk) => {
    const sku = await desk.shop.item(10);
    const page = await desk.go(`stock?q=${sku}`);
    await wait_for(row_of(page, sku));
    await page.getByRole('grid').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('3');
    await page.keyboard.press('Escape');
    await wait_for(page.getByRole('form', { name: 'Change' }), 'detached');
    assert.equal((await figures_of(page, sku))[2], '10');
    assert.equal((await desk.shop.level(sku)).on_hand, 10);
  });

  desk_test('K2: of two clerks who set 10 to 15, one wins and one is told', async (desk) => {
    const sku = await desk.shop.item(10);
    const other = await desk.colleague();
    const [mine, theirs] = [await desk.go(`stock?q=${sku}`), await other.go(`stock?q=${sku}`)];
    for (const page of [mine, theirs]) await type_on_hand(page, sku, '15');

    await mine.keyboard.press('Enter');
    await said(mine, `${sku}: 15 on hand`);
    other.provoke(412);
    await theirs.keyboard.press('Enter');
    await said(theirs, `${sku} was not changed. Somebody else changed it meanwhile. ` +
      'On hand now: 15.');
    await wait_for(row_of(theirs, sku).getByText('was not changed'));
    assert.equal((await desk.shop.level(sku)).on_hand, 15);
    await eventually('the other clerk sees 15',
      async () => (await figures_of(theirs, sku))[2] === '15');

    await theirs.getByRole('grid').focus();
    await theirs.keyboard.press('Escape');
    await wait_for(row_of(theirs, sku).getByText('was not changed'), 'detached');
  });

  desk_test('less than is promised is taken back, and saved when insisted on', async (desk) => {
    const sku = await desk.shop.item(10);
    await desk.shop.hold(sku, 6);
    const page = await desk.go(`stock?q=${sku}`);
    await type_on_hand(page, sku, '4');
    await page.getByLabel('Reason').selectOption('damaged');
    desk.provoke(409);
    await page.getByRole('button', { name: 'Save', exact: true }).click();

    const row = row_of(page, sku);
    await wait_for(row.getByText('That is less than is reserved.'));
    assert.equal((await figures_of(page, sku))[2], '10', 'the number is taken back');
    assert.equal((await desk.shop.level(sku)).on_hand, 10);

    await row.getByRole('button', { name: 'Save anyway' }).click();
    await said(page, `${sku}: 4 on hand`);
    assert.deepEqual((await figures_of(page, sku)).slice(2), ['4', '6', '0', 'Short']);
  });

  desk_test('a number that is none never leaves the browser', async (desk) => {
    const sku = await desk.shop.item(10);
    const page = await desk.go(`stock?q=${sku}`);
    for (const wrong of ['-1', '1.5', '1.000', '1,000', '1e1', '', '9000000000000001']) {
      await type_on_hand(page, sku, wrong);
      await page.keyboard.press('Enter');
      const box = page.getByLabel('On hand', { exact: true });
      assert.equal(await box.evaluate((input) => input.checkValidity()), false, wrong);
      await box.press('Escape');
    }
    assert.equal((await desk.shop.level(sku)).on_hand, 10);
  });
});

async function type_on_hand(page, sku, text) {
  await wait_for(row_of(page, sku));
  await page.getByRole('grid').focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('On hand', { exact: true }).fill(text);
}

const is_focused = (locator) =>
  locator.evaluate((element) => element === document.activeElement);

// What a screen reader is told stands under the cursor.
async function current_sku(page) {
  const id = await page.getByRole('grid').getAttribute('aria-activedescendant');
  return page.locator(`[id="${id}"]`).getByRole('gridcell').first().innerText();
}
