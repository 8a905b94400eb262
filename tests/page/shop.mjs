// SPDX-License-Identifier: Apache-2.0
// What a shop's own programs do beside the page: they make items, hold and sell units. Surprises
// are faults of the test and say what the service answered.
let last = 0;

// Names that meet nowhere; every file of tests has a service of its own.
export function unique(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}

export function open_shop({ url, admin_key }) {
  async function send(method, path, body, headers = {}) {
    const answer = await fetch(url + path, {
      method,
      headers: {
        Authorization: `Bearer ${admin_key}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(method === 'POST' ? { 'Idempotency-Key': unique('shop') } : {}),
        ...headers,
      },
      body: typeof body === 'string' || body === undefined ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }
  const at = encodeURIComponent;
  return {
    send,
    async item(on_hand, { sku = unique('SKU'), ...settings } = {}) {
      await send('PUT', `/v1/stock/${at(sku)}`, { on_hand, ...settings });
      return sku;
    },
    level: (sku) => send('GET', `/v1/stock/${at(sku)}`),
    adjust: (sku, command) => send('POST', `/v1/stock/${at(sku)}/adjustments`, command),
    hold: (sku, quantity, more = {}) =>
      send('POST', '/v1/reservations', { lines: [{ sku, quantity }], ...more }),
    reservation: (id) => send('GET', `/v1/reservations/${id}`),
    confirm: (id) => send('POST', `/v1/reservations/${id}/confirm`, {}),
    release: (id) => send('POST', `/v1/reservations/${id}/release`, {}),
    extend: (id, ttl_seconds) => send('POST', `/v1/reservations/${id}/extend`, { ttl_seconds }),
    import_csv: (text, mode = 'set') =>
      send('POST', `/v1/imports?mode=${mode}`, text, { 'Content-Type': 'text/csv' }),
  };
}
