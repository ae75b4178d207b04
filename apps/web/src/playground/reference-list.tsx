import { useEffect, useRef, useState } from 'preact/hooks';
import { announce } from '../parts/toasts.js';
import type { Model, PreparedUpload, Role } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { numberText } from '../format.js';
import { Button } from '../parts/buttons.js';
import type { GenerationInput } from '../server-types.js';
import { change, readable, remove, Explained, sentenceOf, randomKey } from '../server.js';

export interface UploadOf {
  readonly appId: string;
  readonly file: File;
  readonly role: Role;
  readonly signal: AbortSignal;
}

/** Uploads a reference file: prepares it, sends its bytes to the signed URL, completes it. Returns its id. */
export async function uploadReference({ appId, file, role, signal }: UploadOf): Promise<string> {
  const bytes = await file.arrayBuffer();
  const sha256 = await sha256Of(bytes);
  const prepared = await change<PreparedUpload>(
    inApp(appId, '/uploads'),
    {
      filename: file.name,
      media_type: file.type,
      byte_size: file.size,
      role,
      ...(sha256 === undefined ? {} : { sha256 }),
    },
    { idempotencyKey: randomKey(), signal },
  );
  await put(prepared, bytes, signal);
  const path = inApp(appId, `/uploads/${prepared.upload_id}/complete`);
  await change(path, {}, { idempotencyKey: randomKey(), signal });
  return prepared.upload_id;
}

/** Undefined in a page without TLS, which browsers let compute none. */
async function sha256Of(bytes: ArrayBuffer): Promise<string | undefined> {
  const subtle = crypto.subtle as SubtleCrypto | undefined;
  if (subtle === undefined) return undefined;
  const digest = new Uint8Array(await subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Sends exactly the signed headers. The browser sets the length itself, and does not let pages set it. */
async function put(
  { upload_url: url, required_headers: headers }: PreparedUpload,
  body: ArrayBuffer,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(readable(url), { method: 'PUT', headers: { ...headers }, body, signal }).catch(() => {
    throw new Explained('The file could not be sent to where files are kept. Check your connection and try again.');
  });
  if (!response.ok)
    throw new Explained(`The file was not taken where files are kept (status ${response.status}). Try again.`);
}

/** A reference file on its way, or one that is there. */
export interface Reference {
  readonly key: string;
  readonly name: string;
  readonly role: Role;
  readonly state: 'uploading' | 'ready' | 'failed';
  /** Absent for one of an earlier generation. */
  readonly file?: File;
  /** An address within this page, to show it by. */
  readonly preview?: string;
  readonly uploadId?: string;
  readonly fault?: string;
}

export interface References {
  readonly all: readonly Reference[];
  readonly add: (files: readonly File[], role: Role) => void;
  readonly retry: (key: string) => void;
  /** Sends it again: the role is part of an upload. */
  readonly changeRole: (key: string, role: Role) => void;
  readonly drop: (key: string) => void;
}

/** The reference files of the form, each uploaded as soon as it is there; first those of an earlier generation. */
export function useReferences(appId: string, known: GenerationInput['references'] = []): References {
  const [all, setAll] = useState<readonly Reference[]>(() => known.map(earlier));
  const sending = useRef(new Map<string, AbortController>());
  const previews = useRef<string[]>([]);
  useEffect(
    () => () => {
      for (const controller of sending.current.values()) controller.abort();
      for (const url of previews.current) URL.revokeObjectURL(url);
    },
    [],
  );
  const update = (key: string, changes: Partial<Reference>): void =>
    setAll((before) => before.map((one) => (one.key === key ? { ...one, ...changes } : one)));

  const send = async (reference: Reference): Promise<void> => {
    const { key, file, role } = reference;
    if (file === undefined) return;
    sending.current.get(key)?.abort();
    const controller = new AbortController();
    sending.current.set(key, controller);
    const { signal } = controller;
    try {
      const uploadId = await uploadReference({ appId, file, role, signal });
      if (!signal.aborted) update(key, { state: 'ready', uploadId });
    } catch (error) {
      if (!signal.aborted) update(key, { state: 'failed', fault: sentenceOf(error) });
    }
  };
  /** Nothing is lost by one that stays: the server removes uploads that no generation was made with. */
  const discard = ({ uploadId, file }: Reference): void => {
    if (uploadId === undefined || file === undefined) return;
    void remove(inApp(appId, `/uploads/${uploadId}`)).catch(() => undefined);
  };
  const again = (key: string, changes: Partial<Reference> = {}): void => {
    const found = all.find((one) => one.key === key);
    if (found?.file === undefined) return;
    const { fault: _fault, uploadId: _uploadId, ...rest } = found;
    discard(found);
    const next: Reference = { ...rest, ...changes, state: 'uploading' };
    setAll((before) => before.map((one) => (one.key === key ? next : one)));
    void send(next);
  };

  return {
    all,
    add: (files, role) => {
      const added = files.map((file): Reference => {
        const preview = URL.createObjectURL(file);
        previews.current.push(preview);
        return { key: randomKey(), name: file.name, role, state: 'uploading', file, preview };
      });
      setAll((before) => [...before, ...added]);
      for (const one of added) void send(one);
    },
    retry: (key) => again(key),
    changeRole: (key, role) => again(key, { role }),
    drop: (key) => {
      sending.current.get(key)?.abort();
      const found = all.find((one) => one.key === key);
      if (found !== undefined) discard(found);
      setAll((before) => before.filter((one) => one.key !== key));
    },
  };
}

function earlier({ upload_id: uploadId, role }: GenerationInput['references'][number], index: number): Reference {
  return { key: randomKey(), name: `Reference ${index + 1} of the earlier generation`, role, state: 'ready', uploadId };
}

/** The names of the roles on this page. */
export const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  reference_image: 'Reference image',
  start_frame: 'Start frame',
  end_frame: 'End frame',
};

interface ReferenceListProps {
  readonly model: Model;
  readonly references: References;
  /** The fault of the reference at this position. */
  readonly faultAt: (index: number) => string | undefined;
  /** A fault that concerns all references. */
  readonly fault: string | undefined;
}

/** Reference files, which can be dropped or picked, with the role of each. */
export function ReferenceList({ model, references, faultAt, fault }: ReferenceListProps) {
  const { max_reference_uploads: most, upload_media_types: types, reference_roles: roles } = model.limits;
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  if (most === 0 || roles.length === 0) return null;
  const left = most - references.all.length;
  const add = (files: FileList | null): void => {
    const picked = Array.from(files ?? []);
    if (picked.length === 0) return;
    if (picked.length > left)
      announce(
        `${model.display_name} takes at most ${most} ${most === 1 ? 'file' : 'files'}; the others were left out.`,
      );
    references.add(picked.slice(0, Math.max(0, left)), freeRole(roles, references.all));
  };
  return (
    // Dropping is another way to what the button does, which the keyboard reaches.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <fieldset
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        add(event.dataTransfer?.files ?? null);
      }}
    >
      <legend>Reference files (optional)</legend>
      <ul class="references">
        {references.all.map((reference, index) => (
          <ReferenceRow
            key={reference.key}
            reference={reference}
            roles={roles}
            references={references}
            fault={reference.fault ?? faultAt(index)}
          />
        ))}
      </ul>
      {fault === undefined ? null : <p class="field-fault">{fault}</p>}
      {left > 0 ? (
        <p class="drop-text">
          <Button isSmall onClick={() => input.current?.click()}>
            Choose files
          </Button>
          <span class="small muted">{`or drop them here: ${typesText(types)}, up to ${sizeText(model.limits.max_upload_bytes)}`}</span>
        </p>
      ) : null}
      <input
        ref={input}
        type="file"
        multiple={most > 1}
        accept={types.join(',')}
        hidden
        onChange={({ currentTarget }) => {
          add(currentTarget.files);
          // The same file can be picked again.
          currentTarget.value = '';
        }}
      />
    </fieldset>
  );
}

/** One that no other file has, where each frame can be there once. */
function freeRole(roles: readonly Role[], all: readonly Reference[]): Role {
  const free = roles.find((role) => role === 'reference_image' || !all.some((one) => one.role === role));
  return free ?? roles[0] ?? 'reference_image';
}

interface ReferenceRowProps {
  readonly reference: Reference;
  readonly roles: readonly Role[];
  readonly references: References;
  readonly fault: string | undefined;
}

function ReferenceRow({ reference, roles, references, fault }: ReferenceRowProps) {
  const { key, name, role, state, preview, file } = reference;
  return (
    <li>
      {preview === undefined ? null : <img src={preview} alt="" />}
      <div class="reference-text">
        <span aria-busy={state === 'uploading'}>{name}</span>
        <span class="small muted" aria-live="polite">
          {state === 'uploading' ? 'Uploading…' : state === 'ready' ? 'Ready' : 'Not uploaded'}
        </span>
        {fault === undefined ? null : (
          <p class="field-fault" role="alert">
            {fault}
          </p>
        )}
      </div>
      {roles.length > 1 && file !== undefined ? (
        <select
          aria-label={`What ${name} is`}
          value={role}
          onChange={({ currentTarget }) => references.changeRole(key, currentTarget.value as Role)}
        >
          {roles.map((one) => (
            <option key={one} value={one}>
              {ROLE_TEXTS[one]}
            </option>
          ))}
        </select>
      ) : (
        <span class="small muted">{ROLE_TEXTS[role]}</span>
      )}
      <div class="row wrap">
        {state === 'failed' ? (
          <Button isSmall onClick={() => references.retry(key)}>
            Try again
          </Button>
        ) : null}
        <button type="button" class="button small" aria-label={`Remove ${name}`} onClick={() => references.drop(key)}>
          Remove
        </button>
      </div>
    </li>
  );
}

function typesText(types: readonly string[]): string {
  return types.map((type) => type.replace(/^\w+\//, '').toUpperCase()).join(', ');
}

function sizeText(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${numberText(Math.floor(bytes / 1024 / 1024))} MiB` : `${numberText(bytes)} bytes`;
}
