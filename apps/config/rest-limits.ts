import { DEFAULT_DEVELOPER_RATES, type DeveloperRates } from '../http/developer/shown-rate-limit.js';
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from '../http/host/limits.js';

/** What the section `rest` bounds: what the HTTP host takes, and how often a credential may ask. */
export type RestLimits = HttpLimits & DeveloperRates;

export const DEFAULT_REST_LIMITS: RestLimits = { ...DEFAULT_DEVELOPER_RATES, ...DEFAULT_HTTP_LIMITS };
