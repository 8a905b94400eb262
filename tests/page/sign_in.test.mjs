// SPDX-License-Identifier: Apache-2.0
// The door, and who keeps it: the first owner, accounts, roles and keys.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { workplace } from './desk.mjs';
import { password } from './people.mjs';
import { dialog, line_of, said, sign_in, wait_for } from './seen.mjs';
import { eventually } from './waiting.mjs';

const nobody = { as: null };

describe('people', { concurrency: false }, () => {
  const { desk_test } = workplace();

  // Before any other: the link is only there while there is nobody.
  desk_test('who opens the link of the first start becomes the owner', async (desk) => {
    const { page } = desk;
    desk.provoke(401);
    await page.goto(await desk.service.first_link());
    await wait_for(page.getByRole('heading', { name: 'Welcome' }));
    await page.getByLabel('Name').fill('Ada');
    const typed = page.getByLabel('Password', { exact: true });
    await typed.fill('short');
    await page.getByRole('button', { name: 'Make my account' }).click();
    assert.equal(await typed.evaluate((box) => box.validity.tooShort), true);
    await typed.fill(password);
    await page.getByRole('button', { name: 'Make my account' }).click();
    await said(page, 'There is an account for Ada now');
    await wait_for(page.getByRole('heading', { name: 'Stock', level: 1 }));
    assert.ok(!page.url().includes('first='), 'the link does not stay in the address');

    const late = await desk.colleague(nobody);
    late.provoke(401, 403);
    await late.page.goto(await desk.service.first_link());
    await late.page.getByLabel('Name').fill('Eve');
    await late.page.getByLabel('Password', { exact: true }).fill(password);
    await late.page.getByRole('button', { name: 'Make my account' }).click();
    await wait_for(late.page.getByRole('alert').getByText('This link was used already'));
    await desk.staff.adopt_owner('Ada');
  }, nobody);

  desk_test('a wrong password is said, the right one leads to where one was', async (desk) => {
    desk.provoke(401);
    const page = await desk.go('trail?actor=nobody');
    await wait_for(page.getByRole('heading', { name: 'Sign in' }));
    await sign_in(page, 'Ada', 'not this one, surely');
    await wait_for(page.getByRole('alert').getByText('The name or the password is wrong.'));
    await sign_in(page, 'Ada', password);
    await wait_for(page.getByRole('heading', { name: 'Trail', level: 1 }));
    assert.equal(await page.getByLabel('By').inputValue(), 'nobody');

    await page.reload();
    await wait_for(page.getByRole('heading', { name: 'Trail', level: 1 }));
    await page.getByRole('button', { name: 'Sign out' }).click();
    await wait_for(page.getByRole('heading', { name: 'Sign in' }));
    await page.reload();
    await wait_for(page.getByRole('heading', { name: 'Sign in' }));
    const cookies = await desk.context.cookies();
    assert.ok(cookies.every((cookie) => cookie.httpOnly && cookie.sameSite === 'Strict'));
  }, nobody);

  desk_test('an owner makes an account, and its person changes the password', async (desk) => {
    const page = await desk.go('staff');
    await page.getByRole('button', { name: 'New account' }).click();
    await dialog(page).getByLabel('Name').fill('Berta');
    await dialog(page).getByLabel('Role').selectOption('clerk');
    await dialog(page).getByRole('button', { name: 'Make account' }).click();
    const told = dialog(page, 'Password of Berta');
    const first = await told.locator('.secret').innerText();
    await told.getByRole('button', { name: 'Close' }).last().click();
    await wait_for(line_of(page, 'Berta').getByText('Clerk'));

    const berta = await desk.colleague(nobody);
    berta.provoke(401);
    await berta.go('account');
    await sign_in(berta.page, 'Berta', first);
    await wait_for(berta.page.getByRole('heading', { name: 'My account' }));
    desk.provoke(403);
    await change_password(berta.page, 'not the present one', 'a much better password');
    await wait_for(berta.page.getByRole('alert').getByText('The present password is wrong.'));
    await change_password(berta.page, first, 'a much better password');
    await said(berta.page, 'Your password is changed');
  });

  desk_test('who forgot the password chooses another by a link of the owner', async (desk) => {
    const page = await desk.go('staff');
    await page.getByRole('button', { name: 'New password for Berta' }).click();
    await dialog(page).getByRole('button', { name: 'New password' }).click();
    const link = await dialog(page, 'Link for Berta').locator('.secret').innerText();
    await dialog(page).getByRole('button', { name: 'Close' }).last().click();

    const berta = await desk.colleague(nobody);
    berta.provoke(401);
    await berta.page.goto(link);
    await wait_for(berta.page.getByRole('heading', { name: 'Choose a new password' }));
    await berta.page.getByLabel('Password', { exact: true }).fill('the third password by now');
    await berta.page.getByRole('button', { name: 'Set the password' }).click();
    await said(berta.page, 'The password of Berta is changed');
    await wait_for(berta.page.getByRole('heading', { name: 'Stock', level: 1 }));
    assert.ok(!berta.page.url().includes('password='), 'the link does not stay in the address');

    const late = await desk.colleague(nobody);
    late.provoke(401, 403);
    await late.page.goto(link);
    await late.page.getByLabel('Password', { exact: true }).fill('the fourth password by now');
    await late.page.getByRole('button', { name: 'Set the password' }).click();
    await wait_for(late.page.getByRole('alert').getByText('This link was used already'));
  });

  desk_test('a clerk sees what a clerk may do, and is told of a new role', async (desk) => {
    const clerk = await desk.colleague({ as: 'clerk' });
    const theirs = await clerk.go('stock');
    const places = theirs.getByRole('navigation').getByRole('link');
    await wait_for(places);
    assert.deepEqual(await places.allInnerTexts(), ['Stock', 'Reservations', 'Live sale', 'Counts',
      'Import', 'Reports', 'Drift', 'Blocked customers', 'System']);
    clerk.provoke(403);
    await clerk.go('staff');
    await wait_for(theirs.getByRole('alert').getByText('You may not do that.'));

    const page = await desk.go('staff');
    await page.getByRole('button', { name: 'Role of Kurt' }).click();
    await dialog(page, 'Role of Kurt').getByLabel('Role').selectOption('manager');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await said(page, 'Kurt is changed');
    await theirs.reload();
    await wait_for(theirs.getByRole('navigation').getByRole('link', { name: 'Webhooks' }));
  });

  desk_test('a viewer reads, and is offered nothing to change', async (desk) => {
    const sku = await desk.shop.item(4);
    const hold = await desk.shop.hold(sku, 1);
    const page = await desk.go(`stock?q=${sku}`);
    await page.getByRole('grid').focus();
    await page.keyboard.press('Enter');
    await wait_for(page.getByRole('link', { name: sku }));
    assert.equal(await page.getByRole('form').count(), 0);
    await desk.go(`stock/${sku}`);
    await wait_for(page.getByRole('heading', { name: 'Settings' }));
    assert.equal(await page.getByRole('main').getByRole('button').count(), 0);
    await desk.go(`reservations/${hold.id}`);
    await wait_for(page.getByText(hold.id));
    assert.equal(await page.getByRole('button', { name: 'Release' }).count(), 0);
    desk.provoke(403);
    for (const [place, title] of [['webhooks', 'Webhooks'], ['keys', 'Keys'], ['staff', 'Staff']]) {
      await desk.go(place);
      await wait_for(page.getByRole('heading', { name: title, level: 1 }));
      assert.equal(await page.getByRole('button', { name: /^New / }).count(), 0);
    }
  }, { as: 'viewer' });

  desk_test('who is locked out is out at once, and comes back when unlocked', async (desk) => {
    const viewer = await desk.colleague({ as: 'viewer' });
    const theirs = await viewer.go('stock');
    await wait_for(theirs.getByRole('grid'));
    const page = await desk.go('staff');
    await page.getByRole('button', { name: 'Lock Vera' }).click();
    await dialog(page).getByRole('button', { name: 'Lock' }).click();
    await wait_for(line_of(page, 'Vera').getByText('Locked'));

    viewer.provoke(401);
    await viewer.go('reservations');
    await wait_for(theirs.getByText('You are not signed in any more.'));
    await sign_in(theirs, 'Vera', password);
    await wait_for(theirs.getByRole('alert').getByText('The name or the password is wrong.'));

    await page.getByRole('button', { name: 'Unlock Vera' }).click();
    await dialog(page).getByRole('button', { name: 'Unlock' }).click();
    await wait_for(line_of(page, 'Vera').getByText('Active'));
    await sign_in(theirs, 'Vera', password);
    await wait_for(theirs.getByRole('heading', { name: 'Reservations', level: 1 }));
    desk.staff.forget('viewer');
  });

  desk_test('the last owner cannot go, anybody else can', async (desk) => {
    const page = await desk.go('staff');
    desk.provoke(409);
    await page.getByRole('button', { name: 'Remove Ada' }).click();
    await dialog(page).getByRole('button', { name: 'Remove' }).click();
    await said(page, 'This is the last owner');
    await page.getByRole('button', { name: 'Remove Berta' }).click();
    await dialog(page).getByRole('button', { name: 'Remove' }).click();
    await said(page, 'Berta is removed');
    await wait_for(line_of(page, 'Berta'), 'detached');
  });

  desk_test('a key is shown once, works, and is revoked', async (desk) => {
    const page = await desk.go('keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog(page).getByLabel('Name').fill('till-3');
    await dialog(page).getByLabel('Role').selectOption('viewer');
    await dialog(page).getByRole('button', { name: 'Make key' }).click();
    const key = await dialog(page, 'Key of till-3').locator('.secret').innerText();
    const is_known = async () => (await fetch(`${desk.service.url}/v1/stock?limit=1`,
      { headers: { Authorization: `Bearer ${key}` } })).status;
    assert.equal(await is_known(), 200);
    await dialog(page).getByRole('button', { name: 'Close' }).last().click();
    await wait_for(line_of(page, 'till-3').getByText('Active'));

    await page.getByRole('button', { name: 'Revoke the key of till-3' }).click();
    await dialog(page).getByRole('button', { name: 'Revoke' }).click();
    await said(page, 'The key of till-3 is revoked');
    await wait_for(line_of(page, 'till-3').getByText('Revoked'));
    await eventually('a key that is not known any more', async () => await is_known() === 401);
  });
});

async function change_password(page, current, next) {
  await page.getByLabel('Present password', { exact: true }).fill(current);
  await page.getByLabel('New password', { exact: true }).fill(next);
  await page.getByRole('button', { name: 'Change password' }).click();
}
