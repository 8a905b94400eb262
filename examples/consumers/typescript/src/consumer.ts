// SPDX-License-Identifier: Apache-2.0
// Keeps a shop's own copy of the levels by Holdfast's events.
//
//   node dist/consumer.js                  receives webhooks on 127.0.0.1:PORT
//   node dist/consumer.js catch-up         reads the feed from where it was last read to its end
//   node dist/consumer.js catch-up --anew  reads every level first, then the feed from its beginning
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { Store, type Level, type StockEvent } from "./store.js";

const BODY_BYTES_MAX = 64 * 1024;

// What the person who started it can mend: told without a stack.
class Refused extends Error {}

interface Message {
  type: string;
  data?: unknown;
}

function isStockEvent(data: unknown): data is StockEvent {
  const event = data as Partial<StockEvent> | null | undefined;
  return typeof event?.id === "string" && typeof event.version === "number";
}

// The bytes as they came: the signature is over them, not over what JSON.parse makes of them.
// What is too much is read and thrown away, so that the sender is there to hear 413.
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length <= BODY_BYTES_MAX) parts.push(part);
  }
  return length <= BODY_BYTES_MAX ? Buffer.concat(parts) : undefined;
}

// Checks every signature in constant time, and that the timestamp is within five minutes.
// Throws when it is not from Holdfast.
function verified(webhook: Webhook, request: IncomingMessage, body: Buffer): Message {
  const header = (name: string) => String(request.headers[name] ?? "");
  return webhook.verify(body, {
    "webhook-id": header("webhook-id"),
    "webhook-timestamp": header("webhook-timestamp"),
    "webhook-signature": header("webhook-signature"),
  }) as Message;
}

// Returns the status to answer with. 204 says that the effect is stored.
async function receive(webhook: Webhook, store: Store, request: IncomingMessage): Promise<number> {
  const body = await bodyOf(request);
  if (request.url !== "/webhook") return 404;
  if (request.method !== "POST") return 405;
  if (body === undefined) return 413;
  let message: Message;
  try {
    message = verified(webhook, request, body);
  } catch {
    return 400;
  }
  // webhook.test, or a kind of message that is newer than this program
  if (!isStockEvent(message.data)) console.log(`dropped ${message.type}: has no level`);
  else for (const line of store.apply([message.data])) console.log(line);
  return 204;
}

function serve(store: Store): void {
  const secret = process.env["HOLDFAST_WEBHOOK_SECRET"] ?? "";
  if (!/^whsec_./.test(secret))
    throw new Refused("HOLDFAST_WEBHOOK_SECRET must be the whsec_… that Holdfast gave");
  const webhook = new Webhook(secret);
  const server = createServer((request, response) => {
    receive(webhook, store, request)
      .catch((failure: unknown) => {
        console.error(failure);
        return 500; // Holdfast sends it again
      })
      .then((status) => response.writeHead(status).end());
  });
  server.requestTimeout = 15_000; // a sender that stops in the middle must not keep us
  server.listen(Number(process.env["PORT"] ?? 9000), "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    console.log(`listening on http://127.0.0.1:${port}/webhook`);
  });
}

async function get<Page>(path: string, query: Record<string, string>): Promise<Page> {
  const url = `${process.env["HOLDFAST_URL"]}${path}?${new URLSearchParams(query)}`;
  const answer = await fetch(url, {
    headers: { Authorization: `Bearer ${process.env["HOLDFAST_KEY"]}` },
    signal: AbortSignal.timeout(30_000),
  }).catch((failure: Error) => {
    throw new Refused(`GET ${path}: ${failure.message}. What was applied is stored; run it again.`);
  });
  const text = await answer.text();
  if (answer.status === 410 && text.includes("events-expired"))
    throw new Refused(
      "The feed no longer goes back to where it was last read: events were missed." +
        " Run: catch-up --anew",
    );
  if (!answer.ok) throw new Refused(`GET ${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as Page;
}

interface StockPage {
  data: { sku: string; levels: Omit<Level, "sku">[] }[];
  next_cursor: string | null;
}

async function readLevels(store: Store): Promise<void> {
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: StockPage = await get("/v1/stock", { limit: "200", cursor });
    store.takeLevels(
      page.data.flatMap(({ sku, levels }) => levels.map((level) => ({ sku, ...level }))),
    );
    cursor = page.next_cursor;
  }
}

interface EventPage {
  data: StockEvent[];
  next_after: string;
}

async function catchUp(store: Store, anew: boolean): Promise<void> {
  // Levels first: what changes meanwhile stands in the feed. The other way round has a gap.
  if (anew) await readLevels(store);
  for (let after = anew ? "" : store.cursor; ; ) {
    const page: EventPage = await get("/v1/events", { limit: "200", ...(after && { after }) });
    // Effects and cursor together: a crash in between neither skips nor repeats.
    for (const line of store.apply(page.data, page.next_after)) console.log(line);
    if (page.next_after === after) return;
    after = page.next_after;
  }
}

const command = process.argv.slice(2).join(" ");
try {
  const store = new Store(process.env["STATE"] ?? "holdfast-state.jsonl");
  if (command === "") serve(store);
  else if (command === "catch-up" || command === "catch-up --anew")
    await catchUp(store, command.endsWith("--anew"));
  else throw new Refused("node dist/consumer.js [catch-up [--anew]]");
} catch (failure) {
  console.error(failure instanceof Refused ? failure.message : failure);
  process.exitCode = 1;
}
