import {
  type FakeAnswer,
  type FakeRequest,
  type FakeRoute,
  FakeServer,
  type FakeServerOptions,
} from './fake-server.js';

export type Handle = FakeRoute['handle'];

/** A vendor's server: routes below a base URL, which ask for the vendor's key. */
export abstract class VendorFake {
  server!: FakeServer;

  /** `path` is the part of the base URL after the origin. */
  protected constructor(private readonly path = '') {}

  /** The origin of the server. */
  get url(): string {
    return this.server.url;
  }

  /** The base URL, including the path prefix of the routes. */
  get base(): string {
    return this.server.url + this.path;
  }

  close(): Promise<void> {
    return this.server.close();
  }

  protected abstract routes(): readonly FakeRoute[];

  /** The answer to a request without the right key; undefined if the request may be handled. */
  protected refused(_request: FakeRequest): FakeAnswer | undefined {
    return undefined;
  }

  /** Opens the server of the routes. */
  protected async opened(options?: FakeServerOptions): Promise<this> {
    this.server = await FakeServer.open(this.routes(), options);
    return this;
  }

  /** A route below the base URL that asks for the key. */
  protected route(method: string, path: string, of: NonNullable<FakeRoute['of']>, handle: Handle): FakeRoute {
    return { method, path: this.path + path, of, handle: (request) => this.refused(request) ?? handle(request) };
  }
}

/** A file of outputs at the origin; it needs no key. */
export function fileRoute(path: string, handle: Handle): FakeRoute {
  return { method: 'GET', path, of: 'output', handle };
}
