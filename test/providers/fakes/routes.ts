import type { FakeAnswer } from './fake-answer.js';
import type { FakeRequest } from './fake-request.js';
import type { CallKind } from './faults.js';

export interface FakeRoute {
  readonly method: string;
  /** Segments that begin with a colon take any one segment; a last segment `*` takes the rest of the path. */
  readonly path: string;
  /** The purpose of its requests; faults are planned by it, and `submit` is counted. */
  readonly of?: CallKind | readonly CallKind[];
  /** Carries the request out. It may read its body itself only if it is given as bytes: the server has read it whole. */
  handle(request: FakeRequest): FakeAnswer | Promise<FakeAnswer>;
}

export interface RouteMatch {
  readonly route: FakeRoute;
  readonly params: Readonly<Record<string, string>>;
}

/** The first route that takes this request. */
export function routeOf(routes: readonly FakeRoute[], method: string, path: string): RouteMatch | undefined {
  for (const route of routes) {
    const params = route.method === method ? paramsOf(route.path, path) : undefined;
    if (params !== undefined) return { route, params };
  }
  return undefined;
}

export function kindsOf(route: FakeRoute | undefined): readonly CallKind[] {
  const { of = [] } = route ?? {};
  return typeof of === 'string' ? [of] : of;
}

function paramsOf(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  const takesRest = wanted.at(-1) === '*';
  if (takesRest ? given.length < wanted.length : given.length !== wanted.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const actual = given[index] ?? '';
    if (takesRest && index === wanted.length - 1) params['*'] = given.slice(index).join('/');
    else if (segment.startsWith(':')) params[segment.slice(1)] = decodeURIComponent(actual);
    else if (segment !== actual) return undefined;
  }
  return params;
}
