// SPDX-License-Identifier: Apache-2.0
// Shelves counted while units are sold, imports taken back, and reports over all of it.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { workplace } from './desk.mjs';
import { password } from './people.mjs';
import { cells_of, dialog, line_of, said, section, sign_in, wait_for } from './seen.mjs';
import { unique } from './shop.mjs';
import { eventually } from './waiting.mjs';

describe('counts', { concurrency: false }, () => {
  const { desk_test } = workplace();

  desk_test('a clerk counts a shelf while it sells, and a manager applies it', async (desk) => {
    const shelf = unique('SHELF');
    const [exact, short] = [`${shelf}-A`, `${shelf}-B`];
    await desk.shop.item(10, { sku: exact });
    await desk.shop.item(20, { sku: short });
    const clerk = await desk.colleague({ as: 'clerk' });
    const page = await clerk.go('counts');
    await page.getByRole('button', { name: 'New count' }).click();
    await dialog(page).getByLabel('Name').fill('Shelf 4');
    await dialog(page).getByLabel('What is counted').selectOption('prefix');
    await dialog(page).getByLabel('SKU prefix').fill(shelf);
    await dialog(page).getByRole('button', { name: 'Open count' }).click();
    await wait_for(page.getByRole('heading', { name: 'Shelf 4', level: 1 }));
    await wait_for(page.getByText('Left to count: 2'));

    await count(page, exact, '10');
    await told(page, `${exact}: counted 10, difference 0`);
    await count(page, short, '17');
    await told(page, `${short}: counted 17, difference -3`);
    await wait_for(page.getByText('A manager applies it.'));
    // Sold after it was counted: that is no difference.
    await desk.shop.confirm((await desk.shop.hold(short, 2)).id);

    const manager = await desk.go(new URL(page.url()).hash.slice(2));
    await eventually('what moved since', async () => {
      await manager.reload();
      const cells = await cells_of(line_of(section(manager, 'What was found'), short));
      return cells[3] === '-3' && cells[4] === '-2' && cells[5] === '15';
    });
    await manager.getByRole('button', { name: 'Apply', exact: true }).click();
    await dialog(manager, 'Apply “Shelf 4”?').getByRole('button', { name: 'Apply' }).click();
    await said(manager, 'Shelf 4 is applied');
    assert.equal((await desk.shop.level(short)).on_hand, 15);
    assert.equal((await desk.shop.level(exact)).on_hand, 10);
  });

  desk_test('rows pasted from a spreadsheet are entered, the wrong ones named', async (desk) => {
    const [sku, other] = [await desk.shop.item(5), await desk.shop.item(5)];
    const page = await desk.go('counts');
    await page.getByRole('button', { name: 'New count' }).click();
    await dialog(page).getByLabel('Name').fill('Pasted');
    await dialog(page).getByRole('button', { name: 'Open count' }).click();
    await wait_for(page.getByRole('heading', { name: 'Pasted', level: 1 }));
    await page.getByLabel('SKU', { exact: true }).first().evaluate((box, text) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text', text);
      box.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    }, `${sku}\t4\n${other}\tmany\n`);
    const attempt = page.locator('form.attempt');
    await wait_for(attempt);
    const where = page.url().split('#/')[1];
    await desk.go('stock');
    await wait_for(page.getByRole('grid'));
    await desk.go(where); // what is not entered is still there
    await wait_for(attempt);
    desk.provoke(401);
    await desk.context.clearCookies();
    await page.getByRole('link', { name: 'Counts' }).first().click();
    await sign_in(page, desk.staff.names.owner, password);
    await wait_for(page.getByRole('heading', { name: 'Counts', level: 1 }));
    await desk.go(where); // and after signing in anew
    await attempt.getByRole('button', { name: 'Enter rows: 2' }).click();
    await wait_for(attempt.getByText('A whole number is needed, 0 or more.'));
    await attempt.getByLabel('Counted').nth(1).fill('6');
    await attempt.getByRole('button', { name: 'Enter rows: 2' }).click();
    await told(page, 'Rows entered: 2');

    await page.getByRole('button', { name: `Take back the entry of ${other}` }).click();
    await dialog(page).getByRole('button', { name: 'Take back' }).click();
    await wait_for(line_of(section(page, 'What was found'), other), 'detached');
    await page.getByRole('button', { name: 'Cancel this count' }).click();
    await dialog(page).getByRole('button', { name: 'Cancel this count' }).click();
    await said(page, 'Pasted is cancelled');
    assert.equal((await desk.shop.level(sku)).on_hand, 5);
  });

  desk_test('an import is undone, and what was sold since stays sold', async (desk) => {
    const [known, made] = [await desk.shop.item(5), unique('MADE')];
    await desk.shop.import_csv(`sku,quantity\n${known},25\n${made},3\n`);
    await desk.shop.confirm((await desk.shop.hold(known, 2)).id);
    const page = await desk.go('imports');
    await page.getByRole('table').getByRole('link').first().click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await dialog(page).getByRole('button', { name: 'Undo' }).click();
    await said(page, 'The import is undone');
    await wait_for(page.getByText('Items that it made are paused: 1.'));
    assert.equal((await desk.shop.level(known)).on_hand, 3);
    assert.equal((await desk.shop.level(made)).on_sale, false);
  });

  desk_test('reports tell what is low, what is held and what moved', async (desk) => {
    const sku = await desk.shop.item(4, { low_stock_at: 10, name: 'Nearly gone' });
    await desk.shop.hold(sku, 1, { reference: 'waits-for-money', ttl_seconds: 86_400 });
    const page = await desk.go('reports');
    await wait_for(line_of(page, sku).getByText('Nearly gone'));
    const file = page.getByRole('link', { name: 'Download as CSV' });
    assert.equal(await file.getAttribute('href'), '/v1/reports/low-stock?format=csv');
    await desk.go('reports/held-longest');
    await wait_for(line_of(page, 'waits-for-money'));
    await desk.go('reports/movements');
    await wait_for(line_of(page, 'Received'));
    await eventually('sums by SKU are asked for', async () => {
      await page.getByLabel('Sums').selectOption('sku');
      await page.getByRole('button', { name: 'Apply filter' }).click();
      return page.url().includes('by=sku');
    });
    await wait_for(line_of(page, sku));
  });
});

const told = (page, text) => wait_for(page.getByRole('status').getByText(text));

// As it is done with a wedge scanner: the SKU, Enter, the number, Enter.
async function count(page, sku, quantity) {
  await page.getByLabel('SKU', { exact: true }).first().fill(sku);
  await page.keyboard.press('Enter');
  await page.keyboard.type(quantity);
  await page.keyboard.press('Enter');
}
