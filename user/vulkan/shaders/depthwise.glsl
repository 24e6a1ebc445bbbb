/* SPDX-License-Identifier: MIT */
/*
 * Convolutions of each channel with filters of its own. An invocation computes an element of the output.
 */
layout(local_size_x = GROUP_SIZE) in;

void main()
{
	const uint i = linear_index(), channel = i % p.width, pixels = p.out_h * p.out_w;
	const uint pixel = i / p.width % pixels, image = i / p.width / pixels;
	const int y = int(pixel / p.out_w * p.stride_h) - p.head_h;
	const int x = int(pixel % p.out_w * p.stride_w) - p.head_w;
	const uint from = p.at[0] + image * p.in_image + channel / p.multiplier * p.in_channel;
	NUMBER sum = NUMBER(0);

	if (image >= p.images)
		return;
	for (uint h = 0u; h < p.kernel_h; h++) {
		const int at_y = y + int(h * p.dilation_h);

		if (at_y < 0 || at_y >= int(p.in_h))
			continue;
		for (uint w = 0u; w < p.kernel_w; w++) {
			const int at_x = x + int(w * p.dilation_w);

			if (at_x < 0 || at_x >= int(p.in_w))
				continue;
			sum += (load(TYPE, from + uint(at_y * int(p.in_w) + at_x) * p.in_pixel) -
				NUMBER(p.in_zero)) *
			       (load(TYPE_FILTER, p.at[1] + (h * p.kernel_w + w) * p.width + channel) -
				NUMBER(p.filter_zero));
		}
	}
	finish(sum, channel, p.at[OUTPUT] + image * p.out_image + pixel * p.out_pixel +
	       channel * p.out_channel, 0u);
}
