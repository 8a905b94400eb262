// SPDX-License-Identifier: Apache-2.0
// The staff of the shop under test: an owner by the link of the first start, and one person of each
// other role, made when they are first needed. Everybody signs in once and stays signed in, since
// the service counts attempts.
import assert from 'node:assert/strict';
import { request } from 'playwright-core';

export const password = 'correct horse battery staple';
const names = { owner: 'Olga', manager: 'Mona', clerk: 'Kurt', viewer: 'Vera' };

export function open_staff_room(service) {
  const states = new Map(); // by role: the cookies of whoever has it
  const hired = new Set();
  let owner = null;

  async function signed_in(name) {
    const person = await request.newContext({ baseURL: service.url });
    const answer = await person.post('/v1/session', { data: { name, password } });
    assert.equal(answer.status(), 204, await answer.text());
    return person;
  }
  async function first_owner() {
    const token = (await service.first_link()).split('#first=')[1];
    const nobody = await request.newContext({ baseURL: service.url });
    const made = await nobody.post('/v1/staff/first',
      { data: { token, name: names.owner, password } });
    assert.equal(made.status(), 201, await made.text());
    await nobody.dispose();
    owner = await signed_in(names.owner);
    states.set('owner', await owner.storageState());
  }
  async function hire(role) {
    if (hired.has(role)) return;
    hired.add(role);
    const { csrf_token } = await (await owner.get('/v1/session')).json();
    const made = await owner.post('/v1/staff', {
      data: { name: names[role], role, password },
      headers: { 'X-CSRF-Token': csrf_token, Origin: service.url },
    });
    assert.equal(made.status(), 201, await made.text());
  }
  async function bring_in(role) {
    const person = await signed_in(names[role]);
    states.set(role, await person.storageState());
    await person.dispose();
  }
  return {
    names,
    // The owner is somebody whom a test has let in by itself, with the password above.
    async adopt_owner(name) {
      owner = await signed_in(name);
      states.set('owner', await owner.storageState());
    },
    // Their sessions have ended; whoever needs such a person signs in anew.
    forget: (role) => states.delete(role),
    // What a browser has to keep to be somebody of this role.
    async state_of(role) {
      if (!owner) await first_owner();
      if (!states.has(role)) {
        await hire(role);
        await bring_in(role);
      }
      return states.get(role);
    },
    close: async () => owner?.dispose(),
  };
}
