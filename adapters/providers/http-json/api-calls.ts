import type { ProviderCall } from '../../../core/ports/provider.js';
import { type ListedHosts, readTarget } from '../../http/allow-list.js';
import { answerAddress, type HttpAnswer } from '../../http/http-answer.js';
import type { HttpRequest } from '../../http/http-request.js';
import type { Connection } from '../shared/connection.js';
import type { HttpJsonSettings, Route } from './http-json-settings.js';
import { filledPath, type PathValues } from './path-template.js';
import { MAX_ANSWER_BYTES } from './read-answer.js';
import type { AnswerPlaces } from './task-reference.js';

/** An answer with outputs in it is read as fast as the object store takes them. */
const LONGEST_READ_MS = 30 * 60_000;

export interface ApiCall extends ProviderCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly settings: HttpJsonSettings;
}

/** The requests to an API that ask about tasks and stop them. */
export class ApiCalls {
  constructor(
    readonly connection: Connection,
    readonly places: AnswerPlaces,
    /** Hosts beside the instance's own that get the key. */
    private readonly keyHosts: ListedHosts,
  ) {}

  /** Whether requests to this address, which is not of the instance's own origin, have the key. */
  sendsKeyTo(address: string): boolean {
    return this.keyHosts.has(readTarget(address));
  }

  /** Whether the operator lists the host of `base_url` among those that get the key. */
  get listsOwnHost(): boolean {
    return this.keyHosts.has({ ...readTarget(this.connection.base), protocol: 'https:' });
  }

  /** The headers of every request that has the key. */
  headersFor({ headers }: HttpJsonSettings): Readonly<Record<string, string>> {
    const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
    return { accept: 'application/json', ...Object.fromEntries(lower), ...this.connection.credentials };
  }

  urlOf(path: string, values: PathValues = {}): string {
    return this.connection.base + filledPath(path, values);
  }

  /** Throws `HttpError`, also for an address that may not be called. */
  at(path: string, values: PathValues, call: ApiCall): Promise<HttpAnswer> {
    return this.send({ url: this.urlOf(path, values), headers: this.headersFor(call.settings) }, call);
  }

  /** The route of a task. `address` is what an answer gave for it. Throws `HttpError`. */
  async ask(route: Route, values: PathValues, address: string | undefined, call: ApiCall): Promise<HttpAnswer> {
    if (route.path !== undefined) return this.at(route.path, values, call);
    const { url, isOwnOrigin } = answerAddress(address, this.places);
    // Hosts that the operator has not listed for it get neither the key nor what else the settings send.
    const isTrusted = isOwnOrigin || this.sendsKeyTo(url);
    const headers = isTrusted ? this.headersFor(call.settings) : { accept: 'application/json' };
    return this.send({ url, headers, hasSecretPath: !isOwnOrigin }, call);
  }

  private send(
    to: Pick<HttpRequest, 'url' | 'headers' | 'hasSecretPath'>,
    { signal, method = 'GET' }: ApiCall,
  ): Promise<HttpAnswer> {
    const limits = { maxBodyBytes: MAX_ANSWER_BYTES, totalTimeoutMs: LONGEST_READ_MS };
    return this.connection.client.request({ method, ...to, signal, limits });
  }
}
