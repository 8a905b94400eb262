// SPDX-License-Identifier: Apache-2.0
// Catalogues as spreadsheets write them: looked at, then applied; with a fault, told to the cell.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { workplace } from './desk.mjs';
import { cells_of, dialog, line_of, row_of, said, section, wait_for } from './seen.mjs';
import { unique } from './shop.mjs';

const rows_max = 10_000;

describe('imports', { concurrency: false }, () => {
  const { desk_test } = workplace();

  desk_test('a dropped file is looked at first, and applied when one says so', async (desk) => {
    const known = await desk.shop.item(5);
    const fresh = unique('NEW');
    const page = await desk.go('imports');
    await drop(page, 'shelf.csv', `sku,quantity,name\r\n${known},8,Known\r\n${fresh},3,Fresh\r\n`);

    const preview = section(page, 'Preview');
    await wait_for(preview.getByText('Rows: 2. New: 1, changed: 1, unchanged: 0.'));
    assert.deepEqual((await cells_of(line_of(preview, known))).slice(0, 6),
      ['2', known, 'main', '5', '8', '+3']);
    await wait_for(line_of(preview, fresh).getByText('new item'));
    assert.equal((await desk.shop.level(known)).on_hand, 5, 'nothing is written yet');

    await apply(page, 'shelf.csv');
    await wait_for(section(page, 'Import applied'));
    assert.equal((await desk.shop.level(known)).on_hand, 8);
    assert.equal((await desk.shop.level(fresh)).name, 'Fresh');
  });

  desk_test('the mode says what the numbers mean', async (desk) => {
    const sku = await desk.shop.item(5);
    const page = await desk.go('imports');
    await choose(page, 'delivery.csv', `sku,quantity\n${sku},4\n`);
    await wait_for(line_of(section(page, 'Preview'), '−1').or(line_of(page, '-1')));
    await page.getByLabel('Mode').selectOption('add');
    await wait_for(line_of(section(page, 'Preview'), '+4'));
    await apply(page, 'delivery.csv');
    await wait_for(section(page, 'Import applied'));
    assert.equal((await desk.shop.level(sku)).on_hand, 9);
  });

  desk_test('a Chinese spreadsheet’s GB18030 and semicolons are understood', async (desk) => {
    const page = await desk.go('imports');
    // "sku;quantity;name" and three items named 纸灯笼, 茶杯 and 㐀 (the last one takes four bytes).
    const gb18030 = Buffer.concat([
      Buffer.from('sku;quantity;name\r\nGB-1;3;'),
      Buffer.from([0xd6, 0xbd, 0xb5, 0xc6, 0xc1, 0xfd]),
      Buffer.from('\r\nGB-2;4;'), Buffer.from([0xb2, 0xe8, 0xb1, 0xad]),
      Buffer.from('\r\nGB-3;5;'), Buffer.from([0x81, 0x39, 0xee, 0x39]), Buffer.from('\r\n'),
    ]);
    await choose(page, '库存.csv', gb18030);
    await wait_for(section(page, 'Preview').getByText('Rows: 3. New: 3'));
    await wait_for(page.getByRole('note').getByText('read as GB18030, and then says “纸灯笼”'));
    await apply(page, '库存.csv');
    await wait_for(section(page, 'Import applied'));
    assert.equal((await desk.shop.level('GB-1')).name, '纸灯笼');
    assert.equal((await desk.shop.level('GB-2')).name, '茶杯');
    assert.equal((await desk.shop.level('GB-3')).name, '㐀');
  });

  desk_test('UTF-8 with a byte order mark, tabs and quotes stays what it is', async (desk) => {
    const page = await desk.go('imports');
    await choose(page, 'tabs.csv',
      '\uFEFFsku\tquantity\tname\r\nTAB-1\t3\t"Tea, ""green"""\r\nTAB-2\t4\t茶\r\n');
    await wait_for(section(page, 'Preview').getByText('Rows: 2. New: 2'));
    await apply(page, 'tabs.csv');
    await wait_for(section(page, 'Import applied'));
    assert.equal((await desk.shop.level('TAB-1')).name, 'Tea, "green"');
    assert.equal((await desk.shop.level('TAB-2')).name, '茶');
  });

  desk_test('K5: one bad row in ten thousand is named, and none is taken', async (desk) => {
    const page = await desk.go('imports');
    desk.provoke(400);
    await choose(page, 'bad.csv', catalogue({ 6789: 'K5-6787,-3' }));
    await wait_for(page.getByRole('alert').getByText('Faults in the file: 1. Nothing changed.'));
    const row = faults(page, 'Faults in the file: 1. Nothing changed.').nth(1);
    assert.deepEqual((await cells_of(row)).slice(0, 2), ['6789', 'quantity']);
    await assert.rejects(desk.shop.level('K5-0'), /unknown-sku/);

    await choose(page, 'good.csv', catalogue());
    await wait_for(section(page, 'Preview').getByText('Rows: 10,000. New: 10,000'));
    await apply(page, 'good.csv');
    await wait_for(section(page, 'Import applied'));
    assert.equal((await desk.shop.level('K5-9999')).on_hand, 7);

    await choose(page, 'again.csv', catalogue());
    await wait_for(section(page, 'Preview').getByText('unchanged: 10,000'));
    await wait_for(page.getByText('No row differs.'));
    assert.equal(await page.getByRole('button', { name: 'Apply' }).count(), 0);
  });

  desk_test('K7: a SKU stays exactly what it is, from the file to its own screen', async (desk) => {
    const skus = ['abc', 'ABC', '00123', '123', 'a/b?c', '%', '%41', 'a#b&c=d;e', 'a b', 'a+b',
      'café', '\u{1F9E6}', 'null', '\'; DROP TABLE item; --', 'x'.repeat(100)];
    const page = await desk.go('imports');
    await choose(page, 'names.csv', `sku,quantity\n${skus.map((sku) => `"${sku}",2\n`).join('')}`);
    await wait_for(section(page, 'Preview').getByText(`New: ${skus.length}`));
    await apply(page, 'names.csv');
    await wait_for(section(page, 'Import applied'));

    for (const sku of skus) {
      await desk.go(`stock?q=${encodeURIComponent(sku)}`);
      await row_of(page, sku).getByRole('link', { name: sku, exact: true }).click();
      await wait_for(page.getByRole('heading', { name: sku, exact: true, level: 1 }));
      const name = `On hand 2 of ${sku} at main, edit`;
      await wait_for(page.getByRole('button', { name, exact: true }));
    }
  });

  desk_test('K7: what is no SKU is told by its row', async (desk) => {
    const page = await desk.go('imports');
    desk.provoke(400);
    const no_skus = [' abc', 'abc ', 'cafe\u0301', 'a\u0000b', 'x'.repeat(101), 'x'.repeat(300),
      ''];
    await choose(page, 'no-names.csv',
      `sku,quantity\n${no_skus.map((sku) => `"${sku}",2\n`).join('')}`);
    const rows = faults(page, `Faults in the file: ${no_skus.length}. Nothing changed.`);
    for (const [index, sku] of no_skus.entries())
      assert.deepEqual((await cells_of(rows.nth(index + 1))).slice(0, 2),
        [String(index + 2), 'sku'], sku);
  });

  desk_test('K8: what is no quantity is told by its row and column, and 0 is one', async (desk) => {
    const sku = await desk.shop.item(3);
    const page = await desk.go('imports');
    desk.provoke(400);
    const no_quantities = ['-1', '1.5', '1e9', '"1,000"', 'null', 'true', '9007199254740993',
      '9223372036854775808', '0x7', '', ' 7'];
    await choose(page, 'numbers.csv', `sku,quantity\n${no_quantities
      .map((number, index) => `K8-${index},${number}\n`).join('')}`);
    const rows = faults(page, `Faults in the file: ${no_quantities.length}. Nothing changed.`);
    for (const [index, number] of no_quantities.entries())
      assert.deepEqual((await cells_of(rows.nth(index + 1))).slice(0, 2),
        [String(index + 2), 'quantity'], number);

    await choose(page, 'zero.csv', `sku,quantity\n${sku},0\nK8-BIG,2147483648\n`);
    await apply(page, 'zero.csv');
    await wait_for(section(page, 'Import applied'));
    assert.equal((await desk.shop.level(sku)).on_hand, 0);
    assert.equal((await desk.shop.level('K8-BIG')).on_hand, 2_147_483_648);
  });

  desk_test('faults are told in Chinese by their codes, else in English', async (desk) => {
    const page = await desk.go('imports');
    desk.provoke(400);
    await choose(page, 'no-number.csv', 'sku,quantity\nA,x\n');
    const [, , told] = await cells_of(faults(page, '文件中有 1 处错误，未做任何修改。').nth(1));
    assert.match(told, /^应为 0 到 \d+ 的整数。$/);
    await page.route('**/v1/imports?*', (route) => route.fulfill({
      status: 400, contentType: 'application/problem+json',
      body: JSON.stringify({ status: 400, code: 'validation-failed', detail: 'Faults: 2', errors: [
        { pointer: '/rows/2/quantity', row: 2, column: 'quantity', code: 'number-invalid',
          detail: 'must be a whole number from 0 to 9' },
        { pointer: '/rows/3/sku', row: 3, column: 'sku', code: 'never-heard-of',
          detail: 'is of a new kind' },
      ] }),
    }));
    await choose(page, 'bad.csv', 'sku,quantity\nA,x\n');
    const rows = faults(page, '文件中有 2 处错误，未做任何修改。');
    assert.deepEqual(await cells_of(rows.nth(1)), ['2', 'quantity', '应为 0 到 9 的整数。']);
    assert.deepEqual(await cells_of(rows.nth(2)), ['3', 'sku', 'is of a new kind']);
  }, { language: 'zh-CN' });

  desk_test('an unknown item of a delivery is named', async (desk) => {
    const page = await desk.go('imports');
    desk.provoke(400);
    await page.getByLabel('Mode').selectOption('add');
    await choose(page, 'unknown.csv', 'sku,quantity\nNEVER-HEARD-OF,1\n');
    const rows = faults(page, 'Faults in the file: 1. Nothing changed.');
    assert.deepEqual((await cells_of(rows.nth(1))).slice(0, 2), ['2', 'sku']);
  });
});

const choose = (page, name, content) => page.locator('input[type=file]')
  .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(content) });

// The rows of the table of faults, its head first. By its caption: the table of past imports stands
// below it.
const faults = (page, caption) =>
  page.getByRole('table', { name: caption, exact: true }).getByRole('row');

// As if the file was dragged out of a folder and let go over the page.
async function drop(page, name, text) {
  const files = await page.evaluateHandle(([file_name, file_text]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([file_text], file_name, { type: 'text/csv' }));
    return transfer;
  }, [name, text]);
  await page.locator('.drop').dispatchEvent('dragover', { dataTransfer: files });
  await page.locator('.drop').dispatchEvent('drop', { dataTransfer: files });
}

async function apply(page, name) {
  await page.getByRole('button', { name: 'Apply' }).click();
  await dialog(page, `Apply ${name}?`).getByRole('button', { name: 'Apply' }).click();
  await said(page, 'Import applied');
}

// Ten thousand items with 7 units each; `odd` says what stands in some lines instead. The head is
// line 1, as editors count.
function catalogue(odd = {}) {
  const lines = ['sku,quantity'];
  for (let n = 0; n < rows_max; ++n) lines.push(odd[n + 2] ?? `K5-${n},7`);
  return `${lines.join('\r\n')}\r\n`;
}
