// SPDX-License-Identifier: Apache-2.0
// The levels in one file, to which lines are only ever added. What is in one line happens together
// or not at all. It needs no database, so that the example needs none; yours has transactions.
import { appendFileSync, fstatSync, fsyncSync, openSync, readSync } from "node:fs";

export interface Level {
  sku: string;
  location: string;
  version: number;
  on_hand: number;
  reserved: number;
  available: number;
}

export interface StockEvent extends Level {
  id: string;
  type: string;
}

interface Line {
  at: string;
  levels?: Level[];
  events?: StockEvent[];
  cursor?: string;
}

// Longer than Holdfast keeps events (events_keep_days), so no repeat comes later.
const SEEN_MS = 60 * 24 * 3600 * 1000;

export class Store {
  cursor = "";
  private levels = new Map<string, Level>();
  private seen = new Set<string>();
  private readonly file: number;
  private end = 0;

  constructor(path: string) {
    this.file = openSync(path, "a+");
    this.read();
  }

  // Applies events that belong together, such as a page of the feed and the cursor behind it.
  // Returns the lines that tell of them; when it returns they are on the disk.
  apply(events: StockEvent[], cursor?: string): string[] {
    this.read();
    const fresh: StockEvent[] = [];
    const told = events.map((event) => {
      const name = `${event.type} ${event.sku} ${event.location} v${event.version}`;
      if (this.seen.has(event.id)) return `dropped ${name}: seen before`;
      fresh.push(onlyWhatIsKept(event));
      this.seen.add(event.id);
      // Work that each event must cause once, even one that comes late (an order's state, a mail
      // to be sent), is written here, in the same transaction of your database.
      // An edge (stock.low …) has the version of the event that caused it: equal is not stale.
      if (!this.take(event)) return `dropped ${name}: stale`;
      return `applied ${name} available ${event.available}`;
    });
    const moved = cursor !== undefined && cursor !== this.cursor;
    if (fresh.length > 0 || moved) this.add({ events: fresh, ...(moved && { cursor }) });
    return told;
  }

  takeLevels(levels: Level[]): void {
    this.add({ levels });
  }

  // Levels are absolute and versions only grow, so an older one has nothing to say.
  private take(level: Level): boolean {
    const key = JSON.stringify([level.sku, level.location]);
    if (level.version < (this.levels.get(key)?.version ?? 0)) return false;
    this.levels.set(key, level);
    return true;
  }

  // The line break before it ends a line that a crash had cut short.
  private add(what: Omit<Line, "at">): void {
    const line: Line = { at: new Date().toISOString(), ...what };
    try {
      appendFileSync(this.file, `\n${JSON.stringify(line)}\n`);
      fsyncSync(this.file);
    } catch (failure) {
      // What was not stored did not happen: go back to what the file says.
      [this.cursor, this.levels, this.seen, this.end] = ["", new Map(), new Set(), 0];
      this.read();
      throw failure;
    }
    this.read();
  }

  // Reads what was added since the last time, by this process or by another one: a catch-up may run
  // beside the server. Taking a line twice changes nothing.
  private read(): void {
    const more = Buffer.alloc(fstatSync(this.file).size - this.end);
    if (more.length === 0) return;
    const length = readSync(this.file, more, 0, more.length, this.end);
    const whole = more.subarray(0, more.subarray(0, length).lastIndexOf("\n") + 1);
    this.end += whole.length;
    for (const text of whole.toString().split("\n")) {
      const line = parsed(text);
      if (line === undefined) continue;
      for (const level of line.levels ?? []) this.take(level);
      for (const event of line.events ?? []) {
        this.take(event);
        if (Date.now() - Date.parse(line.at) < SEEN_MS) this.seen.add(event.id);
      }
      this.cursor = line.cursor ?? this.cursor;
    }
  }
}

// An event also names a customer, who has no business in this file.
function onlyWhatIsKept(event: StockEvent): StockEvent {
  const { id, type, sku, location, version, on_hand, reserved, available } = event;
  return { id, type, sku, location, version, on_hand, reserved, available };
}

// A line that was cut short was never answered with 204, so its event comes again.
function parsed(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}
