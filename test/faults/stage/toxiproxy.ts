/** What toxiproxy can do to the bytes of a link. Times in milliseconds, rates in KB a second. */
export type Toxic =
  | { readonly type: 'latency'; readonly attributes: { readonly latency: number; readonly jitter: number } }
  | { readonly type: 'bandwidth'; readonly attributes: { readonly rate: number } }
  /** Nothing gets through any more; connections stay open for as long as it lasts. */
  | { readonly type: 'timeout'; readonly attributes: { readonly timeout: 0 } }
  | { readonly type: 'reset_peer'; readonly attributes: { readonly timeout: number } }
  /** Each connection ends after so many bytes. */
  | { readonly type: 'limit_data'; readonly attributes: { readonly bytes: number } };

/** Upstream is what a process sends, downstream what it is answered. */
export type Direction = 'upstream' | 'downstream';

interface ProxyFacts { readonly name: string; readonly listen: string; readonly toxics?: readonly { readonly name: string }[] }

/** A client of toxiproxy's HTTP interface. */
export class Toxiproxy {
  constructor(private readonly url: string) {}

  /** A link of its own name to a port of this machine, listening on a free one. */
  async link(name: string, upstreamPort: number): Promise<Link> {
    const { listen } = await this.ask<ProxyFacts>('POST', '/proxies', { name, listen: '127.0.0.1:0', upstream: `127.0.0.1:${upstreamPort}`, enabled: true });
    return new Link(this, name, Number(listen.split(':').at(-1)));
  }

  /** Throws what toxiproxy says where it refuses. */
  async ask<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(this.url + path, { method, ...(body ? { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } } : {}) });
    const text = await response.text();
    if (!response.ok) throw new Error(`toxiproxy answered ${method} ${path} with ${response.status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
}

/** The connection of one process to one store. */
export class Link {
  private toxics = 0;

  constructor(private readonly toxiproxy: Toxiproxy, private readonly name: string, readonly port: number) {}

  /** From now on, for the connections that are open too. */
  async poison(toxic: Toxic, stream: Direction): Promise<void> {
    this.toxics += 1;
    await this.toxiproxy.ask('POST', `/proxies/${this.name}/toxics`, { ...toxic, name: `toxic-${this.toxics}`, stream, toxicity: 1 });
  }

  async heal(): Promise<void> {
    const { toxics = [] } = await this.toxiproxy.ask<ProxyFacts>('GET', `/proxies/${this.name}`);
    for (const { name } of toxics) await this.toxiproxy.ask('DELETE', `/proxies/${this.name}/toxics/${name}`);
  }

  async remove(): Promise<void> {
    await this.toxiproxy.ask('DELETE', `/proxies/${this.name}`);
  }
}
