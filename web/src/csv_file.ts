// SPDX-License-Identifier: Apache-2.0
// Files as spreadsheets write them. The service reads UTF-8 and nothing else; Excel in China saves
// CSV in GB18030, which has GBK and GB2312 in it.

export interface CsvFile {
  readonly name: string;
  readonly content: Blob; // in UTF-8
  // Something in the file that is not ASCII, when the characters had to be guessed.
  readonly guessed_from: string | null;
}

const sample_length_max = 40;

function text_in(bytes: ArrayBuffer, characters: string): string | null {
  try {
    return new TextDecoder(characters, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

export async function is_same_content(one: Blob, other: Blob): Promise<boolean> {
  if (one.size !== other.size) return false;
  const [a, b] = await Promise.all([one.arrayBuffer(), other.arrayBuffer()]);
  const [left, right] = [new Uint8Array(a), new Uint8Array(b)];
  return left.every((byte, at) => byte === right[at]);
}

export async function read_csv_file(file: File): Promise<CsvFile> {
  const bytes = await file.arrayBuffer();
  // What is neither is sent as it is: the service tells where it is wrong.
  const guess = text_in(bytes, 'utf-8') === null ? text_in(bytes, 'gb18030') : null;
  if (guess === null) return { name: file.name, content: file, guessed_from: null };
  const sample = /[^,;\t\r\n"]*[^\0-\x7f][^,;\t\r\n"]*/.exec(guess)?.[0] ?? '';
  return {
    name: file.name,
    content: new Blob([guess]),
    guessed_from: sample.slice(0, sample_length_max),
  };
}
