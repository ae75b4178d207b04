import type { JsonObject } from '../../../core/json.js';

/** What the service answers, as far as the commands read it. */
export interface PublicModel {
  readonly model_key: string;
  readonly display_name: string;
  readonly modality: string;
  readonly operations: readonly string[];
  readonly input_schema: JsonObject;
  readonly description?: string;
  readonly limits: {
    readonly max_reference_uploads: number;
    readonly reference_roles: readonly string[];
    readonly upload_media_types: readonly string[];
    readonly max_upload_bytes: number;
    readonly max_outputs: number;
    readonly negative_prompt: boolean;
  };
  readonly price_unit?: string;
  readonly price?: number;
}

export interface TaskOutput {
  readonly media_id: string;
  readonly media_type: string;
  readonly url: string;
  readonly width?: number;
  readonly height?: number;
  readonly duration_ms?: number;
}

export interface Task {
  readonly generation_id: string;
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  readonly model_key: string;
  readonly modality: string;
  readonly operation: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly completed_at?: string;
  readonly poll_after_ms?: number;
  readonly estimated_credits: number;
  readonly reserved_credits: number;
  readonly charged_credits: number;
  readonly outputs: readonly TaskOutput[];
  readonly error?: { readonly code: string; readonly message: string; readonly retryable: boolean };
  readonly client_trace_id?: string;
}

export interface PreparedUpload {
  readonly upload_id: string;
  readonly upload_url: string;
  readonly method: string;
  readonly required_headers: Readonly<Record<string, string>>;
}

export interface Estimate {
  readonly model_key: string;
  readonly operation: string;
  readonly estimated_credits: number;
  readonly currency: string;
}

export interface Balance {
  readonly mode: string;
  readonly balance_credits: number;
  readonly currency: string;
}
