// SPDX-License-Identifier: Apache-2.0
// A first password for somebody else, to be told or written down: 100 bits in Crockford's Base32,
// which has no letter that is taken for a digit.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const group_length = 5;
const groups = 4;

export function new_password(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(groups * group_length));
  const letters = Array.from(bytes, (byte) => alphabet.charAt(byte % alphabet.length)).join('');
  return (letters.match(/.{5}/g) ?? []).join('-');
}
