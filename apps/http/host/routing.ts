import { ServiceError } from '../../../core/errors.js';
import type { RestContext, RestMiddleware } from './http-context.js';

export type Endpoint = readonly [method: 'GET' | 'POST', path: string, serve: RestMiddleware];

/** A path with its methods. A segment that begins with a colon stands for any text, and names it. */
interface Route {
  readonly segments: readonly string[];
  readonly serveByMethod: Map<string, RestMiddleware>;
}

/** Routes by exact path; whatever matches none is refused, and a path that only lacks the method says which it has. */
export function createRouting(endpoints: readonly Endpoint[]): RestMiddleware {
  const routes = routesOf(endpoints);
  return (ctx) => {
    const segments = ctx.state.target.path.split('/');
    const route = routes.find((candidate) => matches(candidate, segments));
    if (route === undefined) throw new ServiceError('ROUTE_NOT_FOUND');
    const serve = route.serveByMethod.get(ctx.method);
    if (serve === undefined) throw methodRefusal(route, ctx);
    (ctx as RestContext & { params: object }).params = paramsOf(route, segments);
    return serve(ctx, nothingFollows);
  };
}

/** Those without parameters come first, so that a name is never taken for the value of one, whatever the method. */
function routesOf(endpoints: readonly Endpoint[]): readonly Route[] {
  const byPath = new Map<string, Route>();
  for (const [method, path, serve] of endpoints) {
    const route = byPath.get(path) ?? { segments: path.split('/'), serveByMethod: new Map() };
    byPath.set(path, route);
    route.serveByMethod.set(method, serve);
    if (method === 'GET') route.serveByMethod.set('HEAD', serve);
  }
  return [...byPath.values()].toSorted((one, other) => Number(one.segments.some(isParameter)) - Number(other.segments.some(isParameter)));
}

function isParameter(segment: string): boolean {
  return segment.startsWith(':');
}

/** Compared from the end, as paths begin alike. */
function matches({ segments: wanted }: Route, segments: readonly string[]): boolean {
  if (wanted.length !== segments.length) return false;
  for (let index = wanted.length - 1; index > 0; index -= 1) {
    const [name, given] = [wanted[index] as string, segments[index] as string];
    if (isParameter(name) ? given === '' : name !== given) return false;
  }
  return true;
}

function paramsOf({ segments: wanted }: Route, segments: readonly string[]): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (let index = 1; index < wanted.length; index += 1) {
    const name = wanted[index] as string;
    if (isParameter(name)) params[name.slice(1)] = decoded(segments[index] as string);
  }
  return params;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function methodRefusal({ serveByMethod }: Route, ctx: RestContext): ServiceError {
  const allowed = [...serveByMethod.keys()].toSorted().join(', ');
  ctx.res.setHeader('Allow', allowed);
  return new ServiceError('METHOD_NOT_ALLOWED', `This route takes ${allowed}.`);
}

function nothingFollows(): Promise<void> {
  return Promise.resolve();
}
