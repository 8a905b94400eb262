// SPDX-License-Identifier: Apache-2.0
// What a person sees on the page, found as a person finds it: by role and by name.

export const wait_for = (locator, state = 'visible') => locator.first().waitFor({ state });

// A row of the stock grid, by its SKU.
export function row_of(page, sku) {
  return page.getByRole('grid').getByRole('row')
    .filter({ has: page.getByRole('link', { name: sku, exact: true }) });
}

// The texts of its cells: SKU, name, on hand, reserved, available, state.
export async function figures_of(page, sku) {
  await wait_for(row_of(page, sku));
  return row_of(page, sku).getByRole('gridcell').allInnerTexts();
}

// How many items the grid shows, without its head.
export const count_of = async (page) =>
  (await page.getByRole('grid').getByRole('row').count()) - 1;

// A notice, as those who do not see the page hear it too.
export const said = (page, text) => wait_for(page.locator('.notices').getByText(text));

// A row of a table, by a text in it.
export const line_of = (page, text) => page.getByRole('row').filter({ hasText: text });

export async function cells_of(line) {
  await wait_for(line);
  return line.first().getByRole('cell').allInnerTexts();
}

export const dialog = (page, name) => page.getByRole('dialog', name ? { name } : {});

// A part of a screen, by its heading.
export const section = (page, name) => page.getByRole('region', { name, exact: true })
  .and(page.locator('section'));

// At the door.
export async function sign_in(page, name, typed) {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password', { exact: true }).fill(typed);
  await page.getByRole('button', { name: 'Sign in' }).click();
}
