// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: numbers, nodes and sysfs directories of devices. Each device belongs to one engine. A
 * device keeps its number and name until the module is unloaded, even while its engine is absent.
 */

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/sysfs.h>

#include "compat.h"
#include "context.h"
#include "engine.h"

/* Serializes registrations. */
static DEFINE_MUTEX(nnaccel_devices_lock);
/*
 * Entries of the table of engines are set with nnaccel_devices_lock held, and never change
 * afterwards.
 */
static struct nnaccel_engine *nnaccel_engines[NNACCEL_MAX_DEVICES];
static dev_t nnaccel_devt;
static struct cdev *nnaccel_cdev;

static ssize_t nnaccel_text_show(struct nnaccel_engine *engine, const char *text, char *buf)
{
	ssize_t length;

	mutex_lock(&engine->lock);
	length = sysfs_emit(buf, "%s\n", text);
	mutex_unlock(&engine->lock);
	return length;
}

static ssize_t name_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct nnaccel_engine *engine = dev_get_drvdata(dev);

	return nnaccel_text_show(engine, engine->name, buf);
}
static DEVICE_ATTR_RO(name);

static ssize_t version_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct nnaccel_engine *engine = dev_get_drvdata(dev);

	return nnaccel_text_show(engine, engine->version, buf);
}
static DEVICE_ATTR_RO(version);

static ssize_t type_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	static const char *const names[] = {
		[NNACCEL_DEVICE_UNKNOWN] = "unknown",
		[NNACCEL_DEVICE_OTHER] = "other",
		[NNACCEL_DEVICE_CPU] = "cpu",
		[NNACCEL_DEVICE_GPU] = "gpu",
		[NNACCEL_DEVICE_ACCELERATOR] = "accelerator",
	};
	struct nnaccel_engine *engine = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", names[READ_ONCE(engine->type)]);
}
static DEVICE_ATTR_RO(type);

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct nnaccel_engine *engine = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", READ_ONCE(engine->broker) ? "ready" : "absent");
}
static DEVICE_ATTR_RO(state);

static struct attribute *nnaccel_attrs[] = {
	&dev_attr_name.attr,
	&dev_attr_version.attr,
	&dev_attr_type.attr,
	&dev_attr_state.attr,
	NULL
};
ATTRIBUTE_GROUPS(nnaccel);

static char *nnaccel_devnode(nnaccel_devnode_device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0660;
	return NULL;
}

static struct class nnaccel_class = {
	.name = "nnaccel",
	.dev_groups = nnaccel_groups,
	.devnode = nnaccel_devnode,
};

/* Creates the device with the number @number, which no other device has. */
static struct nnaccel_engine *nnaccel_device_create(unsigned int number)
{
	struct nnaccel_engine *engine = kzalloc(sizeof(*engine), GFP_KERNEL_ACCOUNT);
	struct device *dev;

	if (!engine)
		return ERR_PTR(-ENOMEM);
	mutex_init(&engine->lock);
	INIT_LIST_HEAD(&engine->contexts);
	INIT_LIST_HEAD(&engine->events);
	init_waitqueue_head(&engine->events_wait);
	engine->number = number;
	dev = device_create(&nnaccel_class, NULL, nnaccel_devt + number, engine,
			    number ? "nnaccel%u" : "nnaccel", number);
	if (IS_ERR(dev)) {
		mutex_destroy(&engine->lock);
		kfree(engine);
		return ERR_CAST(dev);
	}
	engine->dev = dev;
	/*
	 * If a process has already opened the device node, nnaccel_device_open() waits for the
	 * devices' lock.
	 */
	smp_store_release(&nnaccel_engines[number], engine);
	return engine;
}

/**
 * nnaccel_device_engine() - Returns the engine of a device
 * @number: the device's number
 *
 * Return: the engine, which lives as long as the module is loaded, or NULL.
 */
struct nnaccel_engine *nnaccel_device_engine(unsigned int number)
{
	/* Pairs with the smp_store_release() of nnaccel_device_create(). */
	return number < NNACCEL_MAX_DEVICES ? smp_load_acquire(&nnaccel_engines[number]) : NULL;
}

/**
 * nnaccel_device_open() - Returns the engine of a device's node
 * @inode: the node
 *
 * If a process opens the node before its engine is published, nnaccel_device_open() waits until the
 * device is completely created.
 *
 * Return: the engine or NULL.
 */
struct nnaccel_engine *nnaccel_device_open(const struct inode *inode)
{
	struct nnaccel_engine *engine = nnaccel_device_engine(iminor(inode));

	if (engine)
		return engine;
	mutex_lock(&nnaccel_devices_lock);
	engine = nnaccel_device_engine(iminor(inode));
	mutex_unlock(&nnaccel_devices_lock);
	return engine;
}

/* Notifies sysfs and udev that a broker registered or left. */
static void nnaccel_device_changed(struct nnaccel_engine *engine)
{
	sysfs_notify(&engine->dev->kobj, NULL, "state");
	kobject_uevent(&engine->dev->kobj, KOBJ_CHANGE);
}

/*
 * Returns the engine called @name. If no engine has this name, returns the first engine without a
 * name, or a new engine without a name.
 */
static struct nnaccel_engine *nnaccel_device_find(const char *name)
{
	unsigned int number;

	for (number = 0; number < NNACCEL_MAX_DEVICES; number++) {
		struct nnaccel_engine *engine = nnaccel_engines[number];

		if (!engine)
			break;
		/* Names of engines change only with nnaccel_devices_lock held. */
		if (!engine->name[0] || !strcmp(engine->name, name))
			return engine;
	}
	if (number >= min_t(unsigned int, READ_ONCE(nnaccel_max_devices), NNACCEL_MAX_DEVICES))
		return ERR_PTR(-ENOSPC);
	return nnaccel_device_create(number);
}

/*
 * Ends the engines of hardware that loses its driver or is removed. The driver core holds the
 * hardware's lock during a notifier's call, so nnaccel_devices_lock is taken inside the hardware's
 * lock.
 */
static int nnaccel_hardware_notify(struct notifier_block *notifier, unsigned long action,
				   void *hardware)
{
	struct nnaccel_engine *engine;
	unsigned int number;

	if (action != BUS_NOTIFY_UNBIND_DRIVER)
		return NOTIFY_DONE;
	for (number = 0; (engine = nnaccel_device_engine(number)); number++)
		if (nnaccel_device_leave(engine, NULL, hardware))
			nnaccel_engine_end_sessions(engine);
	return NOTIFY_OK;
}

/* Buses on which the module looks up hardware that a broker names. */
static struct nnaccel_bus {
	nnaccel_bus_type *type;
	struct notifier_block notifier;
} nnaccel_buses[] = {
	{ &platform_bus_type, { .notifier_call = nnaccel_hardware_notify } },
#ifdef CONFIG_PCI
	{ &pci_bus_type, { .notifier_call = nnaccel_hardware_notify } },
#endif
};

/*
 * Returns the hardware that a broker names, with a reference, or an error pointer. Returns NULL if
 * the broker names no hardware.
 */
static struct device *nnaccel_hardware_find(const struct nnaccel_engine_register *arg)
{
	struct device *hardware;

	if (!arg->bus[0])
		return NULL;
	for (int i = 0; i < ARRAY_SIZE(nnaccel_buses); i++) {
		if (strcmp(nnaccel_buses[i].type->name, arg->bus))
			continue;
		hardware = bus_find_device_by_name(nnaccel_buses[i].type, NULL, arg->hardware);
		return hardware ?: ERR_PTR(-ENODEV);
	}
	return ERR_PTR(-EINVAL);
}

/* Links an engine and its hardware in sysfs. */
static int nnaccel_hardware_link(struct nnaccel_engine *engine, struct device *hardware)
{
	int ret = sysfs_create_link(&engine->dev->kobj, &hardware->kobj, "device");

	if (ret)
		return ret;
	ret = sysfs_create_link(&hardware->kobj, &engine->dev->kobj, dev_name(engine->dev));
	if (ret)
		sysfs_remove_link(&engine->dev->kobj, "device");
	else
		engine->hardware = hardware;
	return ret;
}

/**
 * nnaccel_device_register() - Registers the engine of a broker
 * @arg: what the broker says about the engine; validated, except for the names of
 *	hardware
 * @broker: the broker's file
 *
 * Return: the engine, which now has a broker, or an error pointer: -EINVAL, -ENODEV, -EBUSY,
 * -ENOSPC, -ENOMEM.
 */
struct nnaccel_engine *nnaccel_device_register(const struct nnaccel_engine_register *arg,
					       const struct file *broker)
{
	struct device *hardware = nnaccel_hardware_find(arg);
	struct nnaccel_engine *engine;
	int ret;

	if (IS_ERR(hardware))
		return ERR_CAST(hardware);
	mutex_lock(&nnaccel_devices_lock);
	/*
	 * If the driver is being unbound, links.status is no longer DL_DEV_DRIVER_BOUND. If the
	 * driver is unbound later, the notifier waits for nnaccel_devices_lock.
	 */
	if (hardware && READ_ONCE(hardware->links.status) != DL_DEV_DRIVER_BOUND)
		engine = ERR_PTR(-ENODEV);
	else
		engine = nnaccel_device_find(arg->name);
	ret = PTR_ERR_OR_ZERO(engine);
	if (!ret)
		ret = nnaccel_engine_take(engine, arg, broker);
	if (!ret && hardware) {
		ret = nnaccel_hardware_link(engine, hardware);
		if (ret)
			nnaccel_engine_leave(engine);
	}
	mutex_unlock(&nnaccel_devices_lock);
	if (ret) {
		put_device(hardware);
		return ERR_PTR(ret);
	}
	nnaccel_device_changed(engine);
	return engine;
}

/**
 * nnaccel_device_leave() - Removes the broker of an engine
 * @engine: the engine
 * @broker: the broker's file; NULL if the hardware is removed
 * @hardware: the hardware that is removed
 *
 * Return: true if the engine had @broker or @hardware.
 */
bool nnaccel_device_leave(struct nnaccel_engine *engine, const struct file *broker,
			  const struct device *hardware)
{
	struct device *linked;

	mutex_lock(&nnaccel_devices_lock);
	linked = engine->hardware;
	if (broker ? engine->broker != broker : linked != hardware) {
		mutex_unlock(&nnaccel_devices_lock);
		return false;
	}
	nnaccel_engine_leave(engine);
	if (linked) {
		sysfs_remove_link(&engine->dev->kobj, "device");
		sysfs_remove_link(&linked->kobj, dev_name(engine->dev));
	}
	engine->hardware = NULL;
	mutex_unlock(&nnaccel_devices_lock);
	put_device(linked);
	nnaccel_device_changed(engine);
	return true;
}

/**
 * nnaccel_devices_init() - Creates the first device
 *
 * Return: 0 or an error.
 */
int nnaccel_devices_init(void)
{
	struct nnaccel_engine *engine;
	int ret;

	ret = alloc_chrdev_region(&nnaccel_devt, 0, NNACCEL_MAX_DEVICES, "nnaccel");
	if (ret)
		return ret;
	ret = class_register(&nnaccel_class);
	if (ret)
		goto err_region;
	nnaccel_cdev = cdev_alloc();
	if (!nnaccel_cdev) {
		ret = -ENOMEM;
		goto err_class;
	}
	nnaccel_cdev->owner = THIS_MODULE;
	nnaccel_cdev->ops = &nnaccel_context_fops;
	ret = cdev_add(nnaccel_cdev, nnaccel_devt, NNACCEL_MAX_DEVICES);
	if (ret) {
		kobject_put(&nnaccel_cdev->kobj);
		goto err_class;
	}
	mutex_lock(&nnaccel_devices_lock);
	engine = nnaccel_device_create(0);
	mutex_unlock(&nnaccel_devices_lock);
	if (IS_ERR(engine)) {
		ret = PTR_ERR(engine);
		goto err_cdev;
	}
	for (int i = 0; i < ARRAY_SIZE(nnaccel_buses); i++)
		bus_register_notifier(nnaccel_buses[i].type, &nnaccel_buses[i].notifier);
	return 0;

err_cdev:
	cdev_del(nnaccel_cdev);
err_class:
	class_unregister(&nnaccel_class);
err_region:
	unregister_chrdev_region(nnaccel_devt, NNACCEL_MAX_DEVICES);
	return ret;
}

/**
 * nnaccel_devices_exit() - Removes the nodes
 */
void nnaccel_devices_exit(void)
{
	for (int i = 0; i < ARRAY_SIZE(nnaccel_buses); i++)
		bus_unregister_notifier(nnaccel_buses[i].type, &nnaccel_buses[i].notifier);
	for (unsigned int i = 0; i < NNACCEL_MAX_DEVICES; i++)
		if (nnaccel_engines[i])
			device_destroy(&nnaccel_class, nnaccel_devt + i);
	cdev_del(nnaccel_cdev);
	class_unregister(&nnaccel_class);
	unregister_chrdev_region(nnaccel_devt, NNACCEL_MAX_DEVICES);
}

/**
 * nnaccel_devices_free() - Frees the engines, after the last reference to them is gone
 */
void nnaccel_devices_free(void)
{
	for (unsigned int i = 0; i < NNACCEL_MAX_DEVICES; i++)
		kfree(nnaccel_engines[i]);
}
