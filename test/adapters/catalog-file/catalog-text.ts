/** A catalog of one image and one video model that is right in every respect; tests break one line of it at a time. */
export const GOOD_CATALOG = `version: 1
models:
  - model_key: picture-1
    display_name: Picture
    modality: image
    operations: [image_generation]
    description: Makes pictures.
    input_schema:
      type: object
      additionalProperties: false
      properties:
        size: { type: string, enum: [512x512, 1024x1024], default: 512x512 }
        n: { type: integer, minimum: 1, maximum: 4, default: 1 }
        quality: { type: string, enum: [draft, fine], default: draft }
        note: { type: string, maxLength: 40 }
    limits:
      max_reference_uploads: 4
      reference_roles: [reference_image]
      upload_media_types: [image/png]
      max_upload_bytes: 1048576
      max_outputs: 4
      negative_prompt: true
    price:
      version: "1"
      unit: megapixel
      credits_per_unit: 0.1
      base_credits: "0.000001"
      count_parameter: n
      size_parameter: size
      multipliers:
        - parameter: quality
          values: { draft: 1, fine: 1.125 }
      minimum_credits: 1
      maximum_credits: 100
    provider: sandbox
    provider_settings: { painter: image }
    queue_timeout_seconds: 3600
    run_timeout_seconds: 300
    max_attempts: 3
    concurrency: 4
    concurrency_per_account: 2
    cancel_floor_credits: 0
    on_unknown_acceptance: resubmit
    poll_interval_ms: 500
  - model_key: film-1
    display_name: Film
    modality: video
    operations: [video_generation]
    input_schema:
      type: object
      additionalProperties: false
      required: [seconds]
      properties:
        seconds: { type: integer, minimum: 1, maximum: 8 }
    limits: { max_reference_uploads: 2, reference_roles: [start_frame, end_frame], upload_media_types: [image/png], max_upload_bytes: 1048576, max_outputs: 1, negative_prompt: false }
    price: { version: "1", unit: second, credits_per_unit: 4, duration_parameter: seconds, minimum_credits: 0, maximum_credits: 100 }
    provider: sandbox
    queue_timeout_seconds: 60
    run_timeout_seconds: 60
    max_attempts: 1
    concurrency: 1
    concurrency_per_account: 1
    cancel_floor_credits: 2
    on_unknown_acceptance: fail
    poll_interval_ms: 500
`;
