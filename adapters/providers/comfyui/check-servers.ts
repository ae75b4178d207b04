import type { JsonObject } from '../../../core/json.js';
import type { ProviderCall, ProviderCheck } from '../../../core/ports/provider.js';
import { connectionFault, keyFault } from '../shared/check-faults.js';
import { graphFaults, type NodeClasses } from './check-graph.js';
import { type ComfyUiServer, ServerRefused } from './comfyui-server.js';
import type { ComfyUiInstance } from './instance.js';
import { AnswerUnreadable } from './job.js';
import { PlanInvalid } from './plan-invalid.js';
import { type Plan, readSettings } from './plan.js';
import { planOf } from './read-workflow.js';
import { isAtLeast, LEAST_VERSION } from './version.js';

type Needs = Pick<ComfyUiInstance, 'servers' | 'workflowFolder'>;

interface NamedPlan {
  readonly name: string;
  readonly plan: Plan;
}

/** Asks every server for its version, and for the nodes and the models that the workflows need. Makes nothing. */
export async function checkServers(
  { servers, workflowFolder }: Needs,
  settings: readonly JsonObject[],
  call: ProviderCall,
): Promise<ProviderCheck> {
  const faults: string[] = [];
  const plans = settings.flatMap((one) => {
    const read = tryPlan(one, workflowFolder);
    if (typeof read !== 'string') return [read];
    faults.push(read);
    return [];
  });
  const versions = new Set<string>();
  for (const server of servers) {
    const asked = await checkServer(server, plans, call);
    faults.push(...asked.faults);
    if (asked.version !== undefined) versions.add(asked.version);
  }
  return { ...(versions.size === 0 ? {} : { about: `ComfyUI ${[...versions].join(', ')}` }), faults };
}

async function checkServer(
  server: ComfyUiServer,
  plans: readonly NamedPlan[],
  call: ProviderCall,
): Promise<{ readonly version?: string; readonly faults: readonly string[] }> {
  const { address } = server;
  try {
    const version = await server.version(call);
    if (version === undefined) return { faults: [`${address} is not ComfyUI; check servers.`] };
    if (!isAtLeast(version, LEAST_VERSION))
      return { version, faults: [`${address} is ComfyUI ${version}; ${LEAST_VERSION} or newer is needed.`] };
    const classes = await classesOf(server, plans, call);
    const faults = plans.flatMap(({ name, plan }) =>
      graphFaults(plan, classes).map((fault) => `${name} at ${address}: ${fault}`),
    );
    return { version, faults };
  } catch (error) {
    return { faults: [serverFault(error, server)] };
  }
}

function serverFault(error: unknown, { address, connection }: ComfyUiServer): string {
  if (error instanceof AnswerUnreadable) return `${address} is not ComfyUI; check servers.`;
  if (!(error instanceof ServerRefused)) return connectionFault(error, address, 'servers');
  if (error.status === 401 || error.status === 403)
    return keyFault(connection, `The key is refused at ${address}; check api_key.`);
  return `${address} is not ComfyUI (status ${error.status}); check servers.`;
}

async function classesOf(server: ComfyUiServer, plans: readonly NamedPlan[], call: ProviderCall): Promise<NodeClasses> {
  const names = new Set(plans.flatMap(({ plan }) => [...plan.workflow.values()].map(({ classType }) => classType)));
  const classes = new Map<string, JsonObject | undefined>();
  for (const name of names) classes.set(name, await server.nodeClass(name, call));
  return classes;
}

function tryPlan(settings: JsonObject, folder: string): NamedPlan | string {
  try {
    return { name: readSettings(settings).workflow, plan: planOf(settings, folder) };
  } catch (error) {
    if (error instanceof PlanInvalid) return error.message;
    throw error;
  }
}
