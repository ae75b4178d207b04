import { CountedPort } from './counted-port.js';

/** The effects that toxiproxy can have on a link. Times are in milliseconds, rates in KB per second. */
export type Toxic =
  | { readonly type: 'latency'; readonly attributes: { readonly latency: number; readonly jitter: number } }
  | { readonly type: 'bandwidth'; readonly attributes: { readonly rate: number } }
  /** Nothing gets through any more; connections stay open for as long as it lasts. */
  | { readonly type: 'timeout'; readonly attributes: { readonly timeout: 0 } }
  | { readonly type: 'reset_peer'; readonly attributes: { readonly timeout: number } }
  /** Each connection ends after this many bytes. */
  | { readonly type: 'limit_data'; readonly attributes: { readonly bytes: number } };

/** Upstream is what a process sends, downstream what it receives. */
export type Direction = 'upstream' | 'downstream';

interface ProxyFacts {
  readonly listen: string;
}

/** A client of toxiproxy's HTTP interface. */
export class Toxiproxy {
  constructor(private readonly url: string) {}

  /** A named link to a port of this machine, listening on a free port. */
  async link(name: string, upstreamPort: number): Promise<Link> {
    const { listen } = await this.ask<ProxyFacts>('POST', '/proxies', {
      name,
      listen: '127.0.0.1:0',
      upstream: `127.0.0.1:${upstreamPort}`,
      enabled: true,
    });
    return new Link(this, name, await CountedPort.open(Number(listen.split(':').at(-1))));
  }

  /** Throws toxiproxy's error message when it refuses. */
  async ask<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await this.send(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`toxiproxy answered ${method} ${path} with ${response.status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /** A missing resource counts as deleted. */
  async delete(path: string): Promise<void> {
    const response = await this.send('DELETE', path);
    const text = await response.text();
    if (!response.ok && response.status !== 404)
      throw new Error(`toxiproxy answered DELETE ${path} with ${response.status}: ${text}`);
  }

  private send(method: string, path: string, body?: object): Promise<Response> {
    return fetch(this.url + path, {
      method,
      ...(body ? { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } } : {}),
    });
  }
}

/** The connection of one process to one store, or of all to one vendor. */
export class Link {
  private toxics = 0;

  constructor(
    private readonly toxiproxy: Toxiproxy,
    private readonly name: string,
    private readonly counted: CountedPort,
  ) {}

  get port(): number {
    return this.counted.port;
  }

  /** Data that the process has sent so far, about one chunk per request, whether or not it got through. */
  get sent(): number {
    return this.counted.received;
  }

  /**
   * Applies to new and open connections from now on, or to a random share of them. Returns a function that removes this
   * toxic only.
   */
  async poison(toxic: Toxic, stream: Direction, toxicity = 1): Promise<() => Promise<void>> {
    this.toxics += 1;
    const name = `toxic-${this.toxics}`;
    const path = `/proxies/${this.name}/toxics`;
    await this.counted.reading(() => this.toxiproxy.ask('POST', path, { ...toxic, name, stream, toxicity }));
    return () => this.counted.reading(() => this.toxiproxy.delete(`${path}/${name}`));
  }

  async remove(): Promise<void> {
    await this.counted.reading(() => this.toxiproxy.delete(`/proxies/${this.name}`));
    await this.counted.close();
  }
}
